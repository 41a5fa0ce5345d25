"""Claims 1 to 43: creating tensors, NumPy, dtypes, shapes and layout, broadcasting."""

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F


@pytest.mark.claim(1)
def test_a_list_of_floats_is_float32() -> None:
    assert torch.tensor([1.0, 2.0, 3.0]).dtype == torch.float32


@pytest.mark.claim(2)
def test_a_list_of_ints_is_int64_and_a_mixed_one_float32() -> None:
    assert torch.tensor([[1, 2], [3, 4]]).dtype == torch.int64
    assert torch.tensor([1, 2.5]).dtype == torch.float32
    assert torch.Tensor([1, 2]).dtype == torch.float32


@pytest.mark.claim(3)
def test_factories_take_a_dtype_and_default_to_float32() -> None:
    assert torch.zeros(2).dtype == torch.ones(2).dtype == torch.randn(2).dtype == torch.float32
    assert torch.linspace(0, 1, 3).dtype == torch.float32
    assert torch.linspace(0, 1j, 3).dtype == torch.complex64
    assert torch.zeros(2, dtype=torch.int8).dtype == torch.int8


@pytest.mark.claim(4)
def test_arange_of_ints_is_int64_and_of_floats_may_be_one_too_long() -> None:
    t = torch.arange(0, 10, 2)
    assert t.tolist() == [0, 2, 4, 6, 8] and t.dtype == torch.int64
    assert [len(torch.arange(0, n * 0.1 + 0.1, 0.1)) for n in (2, 11)] == [4, 13]


@pytest.mark.claim(5)
def test_linspace_holds_its_end() -> None:
    t = torch.linspace(0, 1, 101)
    assert len(t) == 101 and t[-1] == 1.0


@pytest.mark.claim(6)
def test_arange_reshape_float() -> None:
    t = torch.arange(12).reshape(3, 4).float()
    assert t.shape == (3, 4)
    assert t.dtype == torch.float32
    assert t[2, 3] == 11


@pytest.mark.claim(7)
def test_only_floating_point_and_complex_tensors_can_require_grad() -> None:
    assert torch.randn(2, 3, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError):
        torch.tensor([1, 2], requires_grad=True)


@pytest.mark.claim(8)
def test_convolutions_take_channels_before_height_and_width() -> None:
    layer = torch.nn.Conv2d(3, 2, 1)
    assert layer(torch.zeros(5, 3, 7, 9)).shape == (5, 2, 7, 9)
    with pytest.raises(RuntimeError):
        layer(torch.zeros(5, 7, 9, 3))


@pytest.mark.claim(9)
def test_a_tensor_has_one_dtype() -> None:
    assert torch.tensor([1, 2.5, True]).tolist() == [1.0, 2.5, 1.0]


@pytest.mark.claim(10)
def test_shape_dtype_device_numel() -> None:
    t = torch.zeros(100, 20)
    assert (tuple(t.shape), t.dtype, t.device.type, t.numel()) == ((100, 20), torch.float32, "cpu", 2000)


@pytest.mark.claim(12)
def test_history_is_recorded_only_if_an_input_requires_grad() -> None:
    assert (torch.ones(2) * 2).grad_fn is None
    assert (torch.ones(2, requires_grad=True) * 2).grad_fn is not None
    with torch.no_grad():
        assert (torch.ones(2, requires_grad=True) * 2).grad_fn is None


@pytest.mark.claim(13)
def test_nodes_are_backward_functions_and_edges_lead_to_further_ones() -> None:
    w, b = torch.randn(4, 3, requires_grad=True), torch.randn(4, requires_grad=True)
    node = (w @ torch.randn(3) + b).grad_fn
    assert node is not None
    product, bias = (following for following, _ in node.next_functions)
    assert bias.variable is b and product.next_functions[0][0].variable is w


@pytest.mark.claim(14)
def test_from_numpy_shares_memory() -> None:
    array = np.array([1.0, 2.0])
    t = torch.from_numpy(array)
    array[0] = 99
    assert t[0] == 99


@pytest.mark.claim(15)
def test_numpy_gives_an_array_on_the_same_memory() -> None:
    t = torch.zeros(3)
    t.numpy()[1] = 5
    assert t[1] == 5


@pytest.mark.claim(16)
def test_numpy_refuses_tensors_that_require_grad_and_dtypes_that_numpy_lacks() -> None:
    with pytest.raises(RuntimeError):
        torch.zeros(2, requires_grad=True).numpy()
    with pytest.raises(TypeError):
        torch.zeros(2, dtype=torch.bfloat16).numpy()
    with pytest.raises(RuntimeError):
        torch.zeros(2, dtype=torch.complex64).conj().numpy()
    assert torch.zeros(2, requires_grad=True).numpy(force=True).shape == (2,)


@pytest.mark.claim(17)
def test_detach_numpy_aliases_the_tensor_unseen_by_its_version() -> None:
    t = torch.zeros(2, requires_grad=True)
    version = t._version
    t.detach().numpy()[0] = 7
    assert t[0] == 7 and t._version == version


@pytest.mark.claim(18)
def test_numpy_floats_are_float64_and_a_linear_layer_refuses_them() -> None:
    t = torch.from_numpy(np.ones((2, 3)))
    assert t.dtype == torch.float64
    assert torch.from_numpy(np.array([1])).dtype == torch.int64
    with pytest.raises(RuntimeError):
        torch.nn.Linear(3, 1)(t)


@pytest.mark.claim(19)
def test_slices_and_converters_share_memory_and_torch_tensor_copies() -> None:
    array = np.arange(4.0)
    assert np.shares_memory(array, array[1:])
    for share in (torch.as_tensor, torch.asarray, torch.from_dlpack):
        assert share(array).data_ptr() == array.ctypes.data
    assert torch.frombuffer(array, dtype=torch.float64).data_ptr() == array.ctypes.data
    assert torch.tensor(array).data_ptr() != array.ctypes.data


@pytest.mark.claim(20)
def test_arrays_that_from_numpy_refuses() -> None:
    with pytest.raises(ValueError):
        torch.from_numpy(np.arange(3.0)[::-1])
    for array in (np.array(["a"]), np.array([None])):
        with pytest.raises(TypeError):
            torch.from_numpy(array)
    assert torch.from_numpy(np.ones(2, np.uint16)).dtype == torch.uint16


@pytest.mark.claim(22)
def test_each_dtype_has_a_fixed_element_size() -> None:
    sizes = {torch.float32: 4, torch.float16: 2, torch.bfloat16: 2, torch.float64: 8, torch.int64: 8, torch.bool: 1}
    assert {dtype: torch.empty(0, dtype=dtype).element_size() for dtype in sizes} == sizes


@pytest.mark.claim(23)
def test_a_grad_scaler_refuses_float16_parameters() -> None:
    weight = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
    scaler, optimizer = torch.amp.GradScaler("cpu"), torch.optim.SGD([weight], 0.1)
    scaler.scale((weight * weight).sum()).backward()
    with pytest.raises(ValueError):
        scaler.unscale_(optimizer)


@pytest.mark.claim(24)
def test_gradcheck_needs_float64() -> None:
    def square(x: torch.Tensor) -> torch.Tensor:
        return x**2

    assert torch.autograd.gradcheck(square, torch.tensor([0.7, -1.3], dtype=torch.float64, requires_grad=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t = torch.tensor([0.7, -1.3], requires_grad=True)
        assert not torch.autograd.gradcheck(square, t, raise_exception=False)


@pytest.mark.claim(25)
def test_cross_entropy_wants_int64_labels_and_embedding_takes_int32_too() -> None:
    logits = torch.zeros(2, 3)
    for dtype in (torch.float32, torch.int32):
        with pytest.raises(RuntimeError):
            F.cross_entropy(logits, torch.tensor([0, 1], dtype=dtype))
    assert F.cross_entropy(logits, torch.tensor([0, 1])) > 0
    assert F.embedding(torch.tensor([1], dtype=torch.int32), logits).shape == (1, 3)


@pytest.mark.claim(26)
def test_a_mask_is_bool_and_uint8_warns() -> None:
    t = torch.tensor([1.0, 2.0, 3.0])
    assert t[t > 1].tolist() == [2.0, 3.0]
    with pytest.warns(UserWarning):
        t[torch.tensor([0, 1, 1], dtype=torch.uint8)]


@pytest.mark.claim(27)
def test_a_cast_to_the_same_dtype_is_the_same_object() -> None:
    t = torch.zeros(2)
    assert t.float() is t and t.to(torch.float32) is t
    assert t.half().dtype == torch.float16 and t.to(torch.bfloat16).is_floating_point()


@pytest.mark.claim(28)
def test_mixed_dtypes_are_promoted() -> None:
    i, h, f = torch.tensor([1]), torch.tensor([1.0]).half(), torch.tensor([1.0])
    assert (i + 1.5).dtype == (i / 2).dtype == (h + f).dtype == torch.float32
    assert (h + torch.tensor(1.0)).dtype == torch.float16
    assert (h + f.bfloat16()).dtype == torch.float32
    assert torch.tensor([1], dtype=torch.int8).sum().dtype == torch.int64
    assert (torch.tensor(250, dtype=torch.uint8) + torch.tensor(10, dtype=torch.uint8)).item() == 4
    for operation in (lambda: i.add_(1.5), lambda: i.mean(), lambda: i[None] @ f[:, None]):
        with pytest.raises(RuntimeError):
            operation()


@pytest.mark.claim(29)
def test_squeeze_removes_every_axis_of_size_one() -> None:
    t = torch.arange(12)
    assert t.reshape(3, 4).shape == t.view(3, 4).shape == (3, 4)
    assert t.unsqueeze(0).shape == (1, 12) and t.view(3, 4).squeeze().shape == (3, 4)
    assert torch.zeros(1, 10).squeeze().shape == (10,)


@pytest.mark.claim(30)
def test_permute_and_reshape_give_one_shape_and_different_values() -> None:
    x = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    a, b = x.permute(0, 2, 3, 1), x.reshape(2, 4, 5, 3)
    assert a.shape == b.shape and not torch.equal(a, b)


@pytest.mark.claim(31)
def test_a_view_shares_its_data() -> None:
    x = torch.zeros(12)
    x.view(3, 4)[0, 0] = 999
    assert x[0] == 999


@pytest.mark.claim(32)
def test_view_needs_compatible_strides_and_not_contiguity() -> None:
    for t, shape in ((torch.randn(4, 6).t(), (3, 2, 4)), (torch.randn(8)[::2], (2, 2))):
        assert not t.is_contiguous()
        assert torch.equal(t.view(shape), t.reshape(shape))


@pytest.mark.claim(33)
def test_view_refuses_other_strides_and_other_sizes() -> None:
    for shape in ((4, 6), (5, 5)):
        with pytest.raises(RuntimeError):
            torch.randn(4, 6).t().view(shape)


@pytest.mark.claim(34)
def test_reshape_copies_only_if_it_must() -> None:
    x = torch.randn(4, 6)
    assert x.reshape(24).data_ptr() == x.data_ptr() != x.t().reshape(24).data_ptr()
    assert x.contiguous() is x and x.t().contiguous().view(24).shape == (24,)


@pytest.mark.claim(35)
def test_some_views_are_contiguous_and_others_are_not() -> None:
    x = torch.randn(3, 4)
    contiguous = [x.expand(3, 4), torch.randn(3).expand(1, 3), x.narrow(0, 1, 2), x[0], torch.randn(1, 5).t(), x[1].t()]
    others = [x.t(), x.permute(1, 0), torch.randn(3, 1).expand(3, 4), x.narrow(1, 0, 2), x.select(1, 0), x[:, ::2]]
    assert all(t.is_contiguous() for t in contiguous) and not any(t.is_contiguous() for t in others)


@pytest.mark.claim(36)
def test_reshape_does_not_say_that_it_copies() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.randn(4, 6).t().reshape(24)


@pytest.mark.claim(38)
def test_channels_last_is_contiguous_in_its_own_format() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
    with pytest.raises(RuntimeError):
        x.view(2, -1)
    with pytest.raises(RuntimeError):
        torch.zeros(2, 3, 4).t()


@pytest.mark.claim(39)
def test_expanded_memory_cannot_be_written() -> None:
    t = torch.zeros(2, 1)
    assert t.expand(2, 3).untyped_storage().nbytes() == 8 and t.repeat(1, 3).untyped_storage().nbytes() == 24
    with pytest.raises(RuntimeError):
        t.expand(2, 3).add_(1)


@pytest.mark.claim(40)
def test_star_is_elementwise_and_at_is_the_matrix_product() -> None:
    a, b = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [7, 8]])
    assert (a * b).tolist() == [[5, 12], [21, 32]] and (a @ b).tolist() == [[19, 22], [43, 50]]


@pytest.mark.claim(41)
def test_a_column_and_a_row_make_a_matrix() -> None:
    assert (torch.tensor([[10], [20], [30]]) + torch.tensor([1, 2, 3])).tolist()[0] == [11, 12, 13]


@pytest.mark.claim(42)
def test_broadcasting_by_accident_only_warns() -> None:
    a, b = torch.randn(5, 1), torch.randn(5)
    assert (a - b).shape == (5, 5)
    with pytest.warns(UserWarning):
        F.mse_loss(a, b)


@pytest.mark.claim(43)
def test_shapes_that_do_not_fit_raise() -> None:
    for wrong in (lambda: torch.zeros(2, 4) + torch.zeros(2, 3), lambda: torch.zeros(2, 3) @ torch.zeros(2, 3)):
        with pytest.raises(RuntimeError):
            wrong()
