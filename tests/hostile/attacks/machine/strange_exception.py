# A call raises an exception whose name, text and attributes are hostile.

# %% exercise
class Strange(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    def __getattribute__(self, name):
        raise RuntimeError(name)


Strange.__name__ = Strange.__qualname__ = "<script>" * 1000


def double(x):
    raise Strange("\ud83d <script>alert(1)</script>")
