"""Programs that end with the hub that started them."""

import os
import signal
import subprocess
import sys

from autograder.hub.services import bind_to_hub


def test_a_service_of_a_hub_in_the_background_can_be_interrupted() -> None:
    program = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    service = subprocess.run(
        bind_to_hub(sys.executable, "-c", program),
        stdout=subprocess.PIPE,
        # A shell does this to a command that it starts in the background, and all its children inherit it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        check=True,
    )
    assert service.stdout == b"True\n"


def test_a_program_whose_hub_has_ended_does_not_start() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    command = bind_to_hub(sys.executable, "-c", "print('started')")
    command[command.index(str(os.getpid()))] = str(ended.pid)
    assert subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout == b""
