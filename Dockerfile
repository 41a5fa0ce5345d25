# Two images of the course. `student`: JupyterLab with the course, and the released notebooks. `grader`: all of Gradlab, and the
# whole course at /course. The base is any Debian or Ubuntu with Python 3.11 to 3.13: debian:bookworm-slim for CPU.
ARG BASE=nvidia/cuda:13.0.2-runtime-ubuntu24.04

# hadolint ignore=DL3006
FROM ${BASE} AS python
# torch.compile needs a compiler and Python's headers. Ubuntu's images bring a user 1000 of their own.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates g++ libseccomp2 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/venv \
    && if id -u ubuntu >/dev/null 2>&1; then userdel --remove ubuntu; fi
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 SHELL=/bin/bash

# Apart, so that packages are installed again only when a requirement changes.
FROM python AS requirements
WORKDIR /requirements
COPY pyproject.toml scripts/image_requirements.py ./
RUN python image_requirements.py pyproject.toml student > student.txt \
    && python image_requirements.py pyproject.toml > grader.txt

FROM python AS packages
COPY --from=requirements /requirements/student.txt /opt/requirements/
# Options of pip: for instance an index with PyTorch for CPU. A pip.conf comes as the secret `pip` and leaves no trace.
ARG PIP_ARGS=""
# hadolint ignore=SC2086
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    pip install --no-cache-dir --disable-pip-version-check ${PIP_ARGS} -r /opt/requirements/student.txt

FROM packages AS student
RUN useradd --create-home --uid 1000 --shell /bin/bash student \
    && install -d -o student -g student /home/student/work
COPY labext /opt/gradlab/labext
COPY labkit /opt/gradlab/labkit
COPY release /opt/gradlab/release
ENV PYTHONPATH=/opt/gradlab
USER 1000
WORKDIR /home/student/work
EXPOSE 8888
HEALTHCHECK --start-period=60s --timeout=10s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8888/api', timeout=5)"]
# Notebooks that are in the folder already stay as the student left them.
CMD ["python", "-m", "labkit.start", ".", "--release", "/opt/gradlab/release", "--ip=0.0.0.0", "--no-browser"]

FROM packages AS grader
COPY --from=requirements /requirements/grader.txt /opt/requirements/
ARG PIP_ARGS=""
# hadolint ignore=SC2086
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    pip install --no-cache-dir --disable-pip-version-check ${PIP_ARGS} -r /opt/requirements/grader.txt
COPY pyproject.toml README.md LICENSE /opt/gradlab/
COPY autograder /opt/gradlab/autograder
COPY labext /opt/gradlab/labext
COPY labkit /opt/gradlab/labkit
# The home is for whoever grades with the --user of a folder mounted at /course.
# hadolint ignore=DL3013,SC2086
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    pip install --no-cache-dir --disable-pip-version-check --no-deps ${PIP_ARGS} --editable /opt/gradlab \
    && useradd --create-home --uid 1000 --shell /bin/bash grader \
    && chmod 1777 /home/grader \
    && install -d -o grader -g grader /course
ENV HOME=/home/grader
USER 1000
WORKDIR /course
COPY --chown=grader:grader nbgrader_config.py ./
COPY --chown=grader:grader labs labs
COPY --chown=grader:grader source source
COPY --chown=grader:grader release release
COPY --chown=grader:grader solutions solutions
EXPOSE 8888
# Healthy: submissions can be isolated here at some level.
HEALTHCHECK --interval=5m --timeout=60s \
    CMD ["python", "-c", "from autograder.sandbox import find_layers, find_strongest_level; raise SystemExit(find_strongest_level(find_layers()) == 'none')"]
CMD ["gradlab", "doctor"]
