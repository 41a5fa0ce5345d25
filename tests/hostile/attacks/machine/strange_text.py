# Half characters, escape codes, scripts and NULs are printed, shown and raised.
# expects: double=2

# %% before
from IPython.display import HTML, display

print("half \ud83d of it \0 \x1b[2J\x1b]0;title\x07 <script>alert(1)</script>")
display(HTML("<script>alert(1)</script><img src=x onerror=alert(1)>"))
display({"text/plain": "\udfff", "text/\udfff": "x"}, raw=True)
raise ValueError("\ud83d<script>alert(1)</script>")
