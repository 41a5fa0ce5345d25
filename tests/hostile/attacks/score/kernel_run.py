# The student process' own kernel gives forged outputs.
# expects: shift=any total=any

# %% after
import gc

for each in gc.get_objects():
    if type(each).__name__ == "Kernel":
        each.run = lambda source: [
            {"output_type": "execute_result", "data": {"text/plain": "2.0"}, "metadata": {}, "execution_count": 1}
        ]
