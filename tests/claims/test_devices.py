"""Claims 44 to 51: devices. Everything here runs on a machine without a GPU, and describes such a machine."""

import pytest
import torch

without_cuda = pytest.mark.skipif(torch.cuda.is_available(), reason="says what a machine without CUDA does")


@pytest.mark.claim(44)
def test_a_device_is_chosen_once() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert torch.zeros(1, device=device).device.type == device.type


@pytest.mark.claim(44)
@without_cuda
def test_a_cpu_build_reports_no_accelerator() -> None:
    assert torch.accelerator.current_accelerator() is None


@pytest.mark.claim(45)
def test_mps_can_be_asked_for_anywhere() -> None:
    assert torch.backends.mps.is_available() in (True, False)


@pytest.mark.claim(46)
@without_cuda
def test_cuda_raises_without_a_gpu() -> None:
    with pytest.raises((AssertionError, RuntimeError)):
        torch.zeros(1).cuda()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.nn.Linear(1, 1).to("cuda")


@pytest.mark.claim(47)
def test_python_numbers_go_with_every_device() -> None:
    assert (torch.zeros(2, device="meta") + 1.5).device.type == "meta"
    assert (torch.zeros(2, device="meta") + torch.tensor(1.5)).device.type == "meta"


@pytest.mark.claim(47)
def test_other_mixtures_raise() -> None:
    with pytest.raises(RuntimeError):
        torch.zeros(2, device="meta") + torch.zeros(2)


@pytest.mark.claim(49)
def test_to_the_same_device_is_the_same_object_and_a_module_moves_in_place() -> None:
    t, layer = torch.zeros(2), torch.nn.Linear(1, 1)
    assert t.to("cpu") is t and layer.to("cpu") is layer


@pytest.mark.claim(51)
def test_cuda_and_cuda_0_are_different_devices_to_python() -> None:
    assert torch.device("cuda") != torch.device("cuda:0")
    assert torch.device("cuda").type == torch.device("cuda:0").type
