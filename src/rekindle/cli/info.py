"""``rekindle info``."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Annotated

import typer
from rich.text import Text
from rich.tree import Tree

from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, messages
from rekindle.cli.program import Program, run_to_end
from rekindle.cli.properties import Parallelism, Properties, properties_of
from rekindle.cli.run import IsModule, ProgramArguments, ProgramPath


def info(
    program: ProgramPath,
    arguments: ProgramArguments = None,
    parallelism: Parallelism = None,
    properties: Properties = None,
    module: IsModule = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print the plan as a Mermaid flowchart.")] = False,
    dot: Annotated[bool, typer.Option("--dot", help="Print the plan in Graphviz's language.")] = False,
    svg: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw the plan to this file, as SVG; needs Graphviz.")
    ] = None,
    json: Json = False,
) -> None:
    """Print the plan of a program: the program runs up to its first execute, which executes nothing.

    Options of this command stand before PROGRAM, all that follows is the
    program's own. What the program prints goes to standard error.

    \b
    Examples:
      rekindle info orders.py
      rekindle info --mermaid orders.py --day monday
    """
    printed = [name for name, chosen in (("--json", json), ("--mermaid", mermaid), ("--dot", dot)) if chosen]
    if len(printed) > 1:
        raise typer.BadParameter(f"{' and '.join(printed)} cannot both be printed", param_hint=printed[-1])
    planned = Program(program, tuple(arguments or ()), module, properties_of(properties, parallelism))
    text = _plan_of(planned)
    if svg is not None:
        from rekindle.graph import to_svg

        image = to_svg(text)
        with open(svg, "w", encoding="utf-8") as file:
            file.write(image)
        messages().print(f"the plan is drawn in {svg}", markup=False)
    if json:
        sys.stdout.write(text + "\n")
    elif mermaid:
        from rekindle.graph import to_mermaid

        sys.stdout.write(to_mermaid(text))
    elif dot:
        from rekindle.graph import to_dot

        sys.stdout.write(to_dot(text))
    elif svg is None:
        console().print(_tree(text))


def _plan_of(program: Program) -> str:
    from rekindle.graph.plan_only import PLAN_FILE

    with tempfile.TemporaryDirectory(prefix="rekindle-info-") as directory:
        path = os.path.join(directory, "plan.json")
        code = run_to_end(program.command(), program.environment(**{PLAN_FILE: path}), sys.stderr)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    if code == ExitCode.OK:
        raise CommandError(f"{program.name} has no plan: it ended without having called execute()")
    raise CommandError(f"{program.name} has no plan: it ended with exit code {code} before it called execute()")


def _tree(text: str) -> Tree:
    from rekindle.graph.plan import read_plan
    from rekindle.graph.plan_labels import edge_label, lines_of, path_line, stage_title

    plan = read_plan(text)
    names = {node.id: node.type for node in plan.nodes}
    root = Tree(Text("Execution plan", style="bold"))
    for nodes in plan.levels:
        stage = root.add(Text(stage_title(nodes[0].level), style="bold"))
        for node in nodes:
            name, *details = lines_of(node)
            operator = stage.add(Text(f"{node.id}: {name}", style="cyan"))
            for detail in details:
                operator.add(Text(detail))
            if path_line(node) not in details:
                operator.add(Text(path_line(node)))
            for given in node.predecessors:
                how = f"{edge_label(given)}, to another slot" if given.exchange else edge_label(given)
                operator.add(Text(f"from {given.id}: {names[given.id]} ({how})"))
    return root
