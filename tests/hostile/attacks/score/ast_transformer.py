# A transformer of syntax trees empties each cell.
# expects: shift=0 total=0

# %% after
import ast


class Empty(ast.NodeTransformer):
    def visit_Module(self, node):
        node.body = []
        return node


get_ipython().ast_transformers.append(Empty())
