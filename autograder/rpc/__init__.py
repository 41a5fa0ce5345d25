"""The protocol between examiner and student process: a closed set of values, bounded in size, never pickled."""
