"""Numbers the objects and blocks of memory of an exchange, on both sides in the order in which they are first sent."""

from __future__ import annotations

from typing import Any

from autograder.rpc.blocks import Block
from autograder.rpc.fields import check_length, check_list
from autograder.rpc.frames import ProtocolError, WireValue


class ExchangeRegistry:
    """The objects of an exchange (tensors, arrays, lists, dicts, sets, generators) and their blocks of memory."""

    __slots__ = ("_numbers", "blocks", "objects")

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.blocks: list[Block] = []
        self._numbers: dict[int, int] = {}

    def get_number(self, value: Any) -> int | None:
        number = self._numbers.get(id(value))
        return number if number is not None and self.objects[number] is value else None

    def register(self, value: Any) -> int:
        """Add an object and return its number."""
        number = self._numbers[id(value)] = len(self.objects)
        self.objects.append(value)
        return number

    def forget_after(self, objects: int, blocks: int) -> None:
        """Keep only the first so many objects and blocks, because the others weren't sent after all."""
        del self.objects[objects:], self.blocks[blocks:]
        self._numbers = {id(value): number for number, value in enumerate(self.objects)}

    def get_object(self, number: WireValue) -> Any:
        if type(number) is not int or not 0 <= number < len(self.objects):
            raise ProtocolError("no such object")
        return self.objects[number]

    def get_block(self, number: WireValue) -> Block:
        """Return the block of this number; -1 means one without memory."""
        if number == -1:
            return Block(0, 0, "cpu")
        if type(number) is not int or not 0 <= number < len(self.blocks):
            raise ProtocolError("no such block")
        return self.blocks[number]

    def read_changed_blocks(self, count: int) -> list[WireValue]:
        """Return [number, bytes] of each of the first `count` blocks whose content differs from the other side's."""
        changed: list[WireValue] = []
        for number, block in enumerate(self.blocks[:count]):
            if block.has_changed():
                block.sent = block.read()
                changed.append([number, block.sent])
        return changed

    def write_blocks(self, changes: WireValue, count: int) -> None:
        """Apply the other side's read_changed_blocks(). Raises ProtocolError for any but the first `count` blocks."""
        for change in check_list(changes):
            number, content = check_length(change, 2)
            if type(number) is not int or not 0 <= number < count or not isinstance(content, bytes):
                raise ProtocolError("no such block")
            self.blocks[number].write(content)
