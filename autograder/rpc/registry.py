"""What both sides of an exchange number, in the order in which it first passes: objects with an identity, memory."""

from __future__ import annotations

from typing import Any

from autograder.rpc.blocks import Block
from autograder.rpc.frames import ProtocolError, WireValue


class ExchangeRegistry:
    """objects: tensors, arrays, lists, dicts, sets and generators. blocks: the memory behind tensors and arrays."""

    __slots__ = ("_numbers", "blocks", "objects")

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.blocks: list[Block] = []
        self._numbers: dict[int, int] = {}

    def get_number(self, value: Any) -> int | None:
        number = self._numbers.get(id(value))
        return number if number is not None and self.objects[number] is value else None

    def register(self, value: Any) -> int:
        """Its number."""
        number = self._numbers[id(value)] = len(self.objects)
        self.objects.append(value)
        return number

    def forget_after(self, objects: int, blocks: int) -> None:
        """Know only the first so many: the others do not pass after all."""
        del self.objects[objects:], self.blocks[blocks:]
        self._numbers = {id(value): number for number, value in enumerate(self.objects)}

    def object(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self.objects):
            raise ProtocolError("no such object")
        return self.objects[number]

    def block(self, number: Any) -> Block:
        """-1: of what takes no memory."""
        if number == -1:
            return Block(0, 0, "cpu")
        if type(number) is not int or not 0 <= number < len(self.blocks):
            raise ProtocolError("no such block")
        return self.blocks[number]

    def changed_blocks(self, count: int) -> list[WireValue]:
        """[number, bytes] of each of the first `count` blocks whose content is not what the other side knows."""
        changed = []
        for number, block in enumerate(self.blocks[:count]):
            if block.changed():
                block.sent = block.read()
                changed.append([number, block.sent])
        return changed

    def write_blocks(self, changes: WireValue, count: int) -> None:
        """Write what changed_blocks found on the other side, if these are changes of the first `count` blocks."""
        try:
            for number, content in changes:
                if type(number) is not int or not 0 <= number < count or not isinstance(content, bytes):
                    raise ProtocolError("no such block")
                self.blocks[number].write(content)
        except (TypeError, ValueError):
            raise ProtocolError("malformed changes of blocks") from None
