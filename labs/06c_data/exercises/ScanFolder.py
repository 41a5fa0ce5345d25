# %% given
@probes.probe
def samples_of(make, files, indices, as_path=False, name="scans"):
    """The length of the dataset for a folder of this name with these files, and each sample, or "IndexError"."""
    with tempfile.TemporaryDirectory() as around:
        root = os.path.join(around, name)
        write_files(root, files)
        data, got = make(pathlib.Path(root) if as_path else root), []
        for index in indices:
            try:
                got.append(data[index])
            except IndexError:
                got.append("IndexError")
        return len(data), got


@probes.probe
def samples_after(make, files, *versions):
    """All samples, read anew after the files were overwritten with each of these versions, which look equally old."""
    with tempfile.TemporaryDirectory() as root:
        write_files(root, files)
        data, got = make(root), []
        for version in versions:
            write_files(root, version)
            for path in pathlib.Path(root).glob("*/*"):
                os.utime(path, (1e9, 1e9))
            got.append([data[n] for n in range(len(data))])
        return got


# %% exercise
class ScanFolder(Dataset):
    """The scans in the folders in root, as a dataset: data[index] is a sample (scan, label).

    A scan is a .png file in one of these folders. len(data) is the number of scans.
    The samples are ordered by folder, and within a folder by file name.
    scan: a float32 tensor (1, 8, 8) of the file's 8 by 8 gray pixels, with 0 to 255 scaled to -1.0 to 1.0.
    label: an int, the position of the file's folder in the sorted list of all folders in root.

    Details:
    - root: a str or a pathlib.Path, with any characters. Folders and scans are named with letters and digits, and
      sorted by sorted: 10 comes before 9, and Z before a.
    - Other files are ignored, and so are .png files in root itself. A folder without a .png file still counts for the
      labels.
    - The folders contain no folders, and no suffix is written .PNG.
    - A file is opened each time its sample is asked for, and not before.
    - index: an int. As in a list, -1 is the last sample, and an index that's out of range raises an IndexError.
    """

    def __init__(self, root: str | pathlib.Path) -> None:
        ### BEGIN SOLUTION
        folders = sorted(folder for folder in pathlib.Path(root).iterdir() if folder.is_dir())
        self.files = [(file, label) for label, folder in enumerate(folders) for file in sorted(folder.glob("*.png"))]
        ### END SOLUTION

    def __len__(self) -> int:
        ### BEGIN SOLUTION
        return len(self.files)
        ### END SOLUTION

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        ### BEGIN SOLUTION
        file, label = self.files[index]
        pixels = np.array(Image.open(file))
        return torch.tensor(pixels, dtype=torch.float32, device="cpu")[None] / 127.5 - 1, label
        ### END SOLUTION


# %% promises
# The scans in the folders -> example, other_cases
# A scan is a -> example, other_cases
# len(data) is -> example, other_cases
# The samples are -> example, other_cases
# scan: a float32 -> example, other_cases, opened_late
# label: an int -> example, other_cases
# root: a str -> other_cases
# Folders and scans are -> other_cases
# Other files are -> other_files
# A folder without -> other_files
# The folders contain -> other_cases, other_files
# A file is opened -> opened_late, other_versions
# index: an int -> ends, other_ends
# As in a list, -> ends, other_ends


# %% domain
def draw_files(draw, edge):
    names = draw(st.permutations(["10", "9", "cat", "Dog", "ant2"]))[: draw(st.integers(2, 3))]
    counts = [draw(st.integers(2, 4)) for _ in names]
    names, counts = {"one folder": (["cat"], [4]), "one scan": (["9"], [1])}.get(edge, (names, counts))
    if edge == "ten scans each":
        counts = [10 for _ in names]
    if edge == "no scans":
        return {"9/notes.txt": "none yet", "10/notes.txt": "none yet"}
    order = draw(st.permutations(range(10)))
    g = draw.make_generator()
    files = [f"{name}/{n + 3}.png" for n in order for name, count in zip(names, counts, strict=True) if n < count]
    pixels = {file: torch.randint(0, 256, (8, 8), generator=g).to(torch.uint8) for file in files}
    if edge in ("all black", "all white"):
        pixels = {file: torch.full_like(t, 255 if edge == "all white" else 0) for file, t in pixels.items()}
    return pixels


@domain(
    *(reference, "one folder", "one scan", "ten scans each", "no scans", "all black", "all white", "a Path"),
    *("signs in root", "a root that ends in .png"),
    call=samples_of,
)
def arguments(draw, edge):
    files = draw_files(draw, edge)
    indices = range(sum(file.endswith(".png") for file in files))
    names = {"signs in root": "my *scans* (2) [12] %20 $HOME", "a root that ends in .png": "scans.png"}
    return files, draw(st.permutations(list(indices) * 2)), edge == "a Path", names.get(edge, "scans")


@domain(reference, "one scan", call=samples_of)
def outside(draw, edge):
    files = draw_files(draw, edge)
    return files, list(range(-len(files) - 2, len(files) + 2)), False


@domain(reference, "notes in root", "notes in a folder", "an empty folder", call=samples_of)
def mixed(draw, edge):
    files = draw_files(draw, "one folder" if edge == "notes in root" else "")
    count = len(files)
    others = {
        "notes in root": ["a.txt", "b.png", "README"],
        "notes in a folder": ["cat/a.txt", "cat/b.png.bak", "cat/png"],
        "an empty folder": ["1/a"],
    }
    files |= dict.fromkeys(others.get(edge, []), "not a scan")
    return files, list(range(count)), False


@domain(reference, "one scan", call=samples_after)
def overwritten(draw, edge):
    files = draw_files(draw, edge)
    second = {file: 255 - t for file, t in files.items()}
    return files, second, {file: t // 2 for file, t in files.items()}


# %% checks
with check(
    "example",
    "three scans in two folders: their number, order, labels, and pixels",
    weight=2,
    required=True,
    hint=(
        "Which part differs: the length, a scan, or a label? Compare the shape, the dtype, and the range.",
        "In __init__, list the folders, sort them, and number them with enumerate. Do the same for each one's files.",
    ),
):
    t = torch.arange(64, dtype=torch.uint8).reshape(8, 8)
    files = {"two/b.png": t, "one/c.png": t + 100, "two/a.png": 4 * t}
    parts = [((u - 127.5) / 127.5)[None] for u in (t + 100, 4 * t, t)]
    explain(
        samples_of(ScanFolder, files, [0, 1, 2]),
        (3, [(parts[0], 0), (parts[1], 1), (parts[2], 1)]),
        {
            "the range is -1 to 1, not 0 to 1": (3, [((u + 1) / 2, n) for u, n in zip(parts, (0, 1, 1), strict=True)]),
        },
    )
with check(
    "ends",
    "indices from both ends, and out of range",
    hint=(
        "What does a list do with the indices -1, 2, and -3 if it has two items?",
        "If you look the file up in a list, the list does all of this. Let its IndexError pass.",
    ),
):
    t = torch.arange(64, dtype=torch.uint8).reshape(8, 8)
    parts = [((u - 127.5) / 127.5)[None] for u in (t, 3 * t)]
    want = (2, [(parts[1], 0), (parts[0], 0), "IndexError", "IndexError"])
    assert_close(samples_of(ScanFolder, {"0/0.png": t, "0/1.png": 3 * t}, [-1, -2, 2, -3]), want)
with check(
    "opened_late",
    "files that are overwritten afterward: the new pixels each time",
    hint=(
        "At which of your lines are the pixels read? What does data[0] return after its file has changed?",
        "Keep only paths and labels in __init__, and open the file in __getitem__.",
    ),
):
    t = torch.arange(64, dtype=torch.uint8).reshape(8, 8)
    files = [{"0/0.png": u} for u in (t, 2 * t, 4 * t)]
    want = [[(((u - 127.5) / 127.5)[None], 0)] for u in (2 * t, 4 * t)]
    assert_close(samples_after(ScanFolder, *files), want)

# %% hidden checks
with check(
    "other_cases",
    "other folders, in an order that isn't sorted",
    weight=4,
    required=True,
    hint="In what order does the system list a folder? What does sorting texts do with 9 and 10?",
):
    arguments.assert_results(ScanFolder, "", "one folder", "one scan", "ten scans each", "no scans", "a Path")
    arguments.assert_results(ScanFolder, "all black", "all white", "signs in root", "a root that ends in .png")
with check(
    "other_files",
    "files that aren't scans, and a folder without any",
    weight=2,
    hint="What's in your list of folders if root contains a file, or a folder that contains no .png file?",
):
    mixed.assert_results(ScanFolder, "notes in root", "notes in a folder", "an empty folder")
with check("other_ends", "all indices, and some out of range", hint="What does a list do with these indices?"):
    outside.assert_results(ScanFolder, "", "one scan")
with check("other_versions", "other files that are overwritten", hint="Which of your lines opens a file, and when?"):
    overwritten.assert_results(ScanFolder, "", "one scan")


# %% right "os.listdir, and Matplotlib's reader"
class ScanFolder(Dataset):
    def __init__(self, root):
        self.paths, self.labels = [], []
        names = [name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))]
        for label, name in enumerate(sorted(names)):
            for file in sorted(os.listdir(os.path.join(root, name))):
                if file.endswith(".png"):
                    self.paths.append(os.path.join(root, name, file))
                    self.labels.append(label)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return torch.from_numpy(2 * plt.imread(self.paths[index]) - 1).reshape(1, 8, 8).float(), self.labels[index]


# %% right "one sorted glob, and labels from the parents"
class ScanFolder(Dataset):
    def __init__(self, root):
        root = pathlib.Path(root)
        self.files = sorted(root.glob("*/*.png"), key=lambda file: (file.parent.name, file.name))
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        file = self.files[index]
        with Image.open(file) as image:
            pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
        return (pixels.float().view(1, 8, 8) - 127.5) / 127.5, self.classes.index(file.parent.name)


# %% right "no base class, and a walk"
class ScanFolder:
    def __init__(self, root):
        self.root, self.places = str(root), []
        folders = sorted(next(os.walk(root))[1])
        for label, folder in enumerate(folders):
            names = next(os.walk(os.path.join(root, folder)))[2]
            self.places += [(folder, name, label) for name in sorted(names) if name[-4:] == ".png"]

    def __len__(self):
        return len(self.places)

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are only {len(self)} scans")
        folder, name, label = self.places[index % len(self)]
        pixels = np.asarray(Image.open(os.path.join(self.root, folder, name)), dtype="float32")
        return torch.as_tensor(pixels / 255).mul(2).sub(1).unsqueeze(0), label


# %% wrong "from 0 to 1" fails=example,ends,opened_late,other_cases,other_files,other_ends,other_versions
class ScanFolder(Dataset):
    def __init__(self, root):
        folders = sorted(folder for folder in pathlib.Path(root).iterdir() if folder.is_dir())
        self.files = [(file, label) for label, folder in enumerate(folders) for file in sorted(folder.glob("*.png"))]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        file, label = self.files[index]
        return torch.tensor(np.array(Image.open(file)), dtype=torch.float32)[None] / 255, label


# %% wrong "all files are read in __init__" fails=opened_late,other_versions
class ScanFolder(Dataset):
    def __init__(self, root):
        folders = sorted(folder for folder in pathlib.Path(root).iterdir() if folder.is_dir())
        files = [(file, label) for label, folder in enumerate(folders) for file in sorted(folder.glob("*.png"))]
        images = [torch.tensor(np.array(Image.open(file)), dtype=torch.float32)[None] / 127.5 - 1 for file, _ in files]
        self.samples = [(image, label) for image, (_, label) in zip(images, files, strict=True)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index]


# %% wrong "only folders with scans count" fails=other_files
class ScanFolder(Dataset):
    def __init__(self, root):
        self.files = sorted(pathlib.Path(root).glob("*/*.png"))
        self.classes = sorted({file.parent for file in self.files})

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        file = self.files[index]
        pixels = torch.tensor(np.array(Image.open(file)), dtype=torch.float32)
        return pixels[None] / 127.5 - 1, self.classes.index(file.parent)


# %% wrong "every file in the folders is a scan" fails=other_cases,other_files
class ScanFolder(Dataset):
    def __init__(self, root):
        folders = sorted(folder for folder in pathlib.Path(root).iterdir() if folder.is_dir())
        self.files = [(file, label) for label, folder in enumerate(folders) for file in sorted(folder.iterdir())]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        file, label = self.files[index]
        return torch.tensor(np.array(Image.open(file)), dtype=torch.float32)[None] / 127.5 - 1, label
