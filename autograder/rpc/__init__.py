"""The values that pass between examiner and student process: a closed set, bounded in size, never pickled."""
