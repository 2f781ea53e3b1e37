"""What is in deploy/ is what systemd and Kubernetes understand, and agrees with the commands, keys and codes."""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml

from rekindle.cli.exit_codes import ExitCode
from rekindle.config.configuration_environment import environment_layer
from rekindle.config.configuration_origin import OriginKind
from rekindle.config.configuration_text import read_configuration
from rekindle.config.options import HighAvailabilityOptions, RestOptions, all_options, known_key
from rekindle.rest.protection import PROBE

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "systemd" / "rekindle@.service"
MANIFEST = ROOT / "deploy" / "kubernetes" / "rekindle-orders.yaml"
FOR_PEOPLE = [ExitCode.FAILED, ExitCode.USAGE, ExitCode.NOT_FOUND, ExitCode.CANCELLED]


def check_settings(text: str) -> Any:
    """Read settings; each must be known, and have a value that can be."""
    settings = read_configuration(text, OriginKind.FILE, "deploy")
    assert [key for key in settings.key_set() if not known_key(key)] == []
    for option in all_options():
        settings.get(option)
    assert settings.get(HighAvailabilityOptions.HA_MODE) == "filesystem"
    return settings


class TestSystemd:
    @pytest.fixture
    def service(self) -> Any:
        unit = configparser.ConfigParser(interpolation=None, strict=False)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read(UNIT)
        return unit["Service"]

    def test_it_is_verified_by_systemd(self, tmp_path: Path) -> None:
        if shutil.which("systemd-analyze") is None:
            pytest.skip("systemd-analyze (of the package systemd) is not installed")
        rekindle = Path(sys.executable).with_name("rekindle")
        unit = tmp_path / "rekindle@orders.service"
        unit.write_text(UNIT.read_text().replace("/opt/rekindle/bin/rekindle", str(rekindle)))
        checked = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(unit)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if "Failed to initialize manager" in checked.stderr:
            pytest.skip(f"systemd-analyze cannot work here: {checked.stderr}")
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")

    def test_a_request_to_end_reaches_the_command_alone_and_it_has_time(self, service: Any) -> None:
        assert (service["KillMode"], service["KillSignal"]) == ("mixed", "SIGTERM")
        assert service["TimeoutStopSec"].endswith("min")
        assert service["SuccessExitStatus"] == "143"

    def test_what_is_over_is_not_begun_anew(self, service: Any) -> None:
        assert service["Restart"] == "on-failure"
        assert [int(code) for code in service["RestartPreventExitStatus"].split()] == FOR_PEOPLE

    def test_the_command_is_one(self, service: Any) -> None:
        from support.command_line import rekindle_here

        _, *command = shlex.split(service["ExecStart"])
        assert command == ["run", "$OPTIONS", "${PROGRAM}", "$ARGUMENTS"]
        environment = (UNIT.parent / "orders.env").read_text()
        values = dict(line.split("=", 1) for line in environment.splitlines() if "=" in line and line[0] != "#")
        assert values.keys() == {"PROGRAM", "OPTIONS", "ARGUMENTS"}
        ended = rekindle_here("run", *values["OPTIONS"].split(), values["PROGRAM"])
        assert f"there is no program {values['PROGRAM']!r}" in ended.err

    def test_the_settings_are_known(self) -> None:
        check_settings((UNIT.parent / "rekindle-conf.yaml").read_text())


class TestKubernetes:
    @pytest.fixture
    def documents(self) -> dict[str, Any]:
        return {document["kind"]: document for document in yaml.safe_load_all(MANIFEST.read_text())}

    def test_it_is_verified_against_the_schemas_of_kubernetes(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it imports is not ours
            checker = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate (PyPI) is not installed")
            for document in yaml.safe_load_all(MANIFEST.read_text()):
                checker.validate(document, checker.latest_version(), strict=True)

    def test_all_names_are_one(self, documents: dict[str, Any]) -> None:
        assert {document["metadata"]["name"] for document in documents.values()} == {"rekindle-orders"}
        pod = documents["Job"]["spec"]["template"]
        assert documents["Service"]["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        assert pod["spec"]["serviceAccountName"] == "rekindle-orders"

    def test_probes_ask_for_health_where_the_interface_listens(self, documents: dict[str, Any]) -> None:
        settings = check_settings(documents["ConfigMap"]["data"]["rekindle-conf.yaml"])
        (driver,) = documents["Job"]["spec"]["template"]["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in driver["ports"]}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert driver[probe]["httpGet"] == {"path": PROBE.decode(), "port": "rest"}
        assert settings.get(RestOptions.BIND_PORT) == (ports["rest"],)
        assert settings.get(RestOptions.BIND_ADDRESS) == "0.0.0.0"
        assert {port["name"]: port["port"] for port in documents["Service"]["spec"]["ports"]} == ports
        spark = settings.to_dict()
        assert [spark["jobmanager.rpc.port"], spark["spark.driver.port"], spark["spark.driver.blockManager.port"]] == [
            str(ports[name]) for name in ("control", "spark-driver", "spark-blocks")
        ]
        assert spark["spark.driver.host"] == documents["Service"]["metadata"]["name"]

    def test_driver_and_executors_share_the_volume_and_the_image(self, documents: dict[str, Any]) -> None:
        spec = documents["Job"]["spec"]["template"]["spec"]
        (driver,) = spec["containers"]
        spark = check_settings(documents["ConfigMap"]["data"]["rekindle-conf.yaml"]).to_dict()
        volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data"
        assert spark[f"{volume}.options.claimName"] == documents["PersistentVolumeClaim"]["metadata"]["name"]
        mounts = {mount["name"]: mount["mountPath"] for mount in driver["volumeMounts"]}
        assert spark[f"{volume}.mount.path"] == mounts["data"]
        for key in ("high-availability.storageDir", "execution.checkpointing.dir"):
            assert spark[key].startswith(f"file://{mounts['data']}/")
        assert spark["spark.kubernetes.container.image"] == driver["image"]

    def test_the_environment_is_understood(self, documents: dict[str, Any]) -> None:
        (driver,) = documents["Job"]["spec"]["template"]["spec"]["containers"]
        variables = {variable["name"]: variable.get("value", "x") for variable in driver["env"]}
        settings = environment_layer(variables)
        assert settings.get(RestOptions.TOKEN) == "x"
        assert "spark.kubernetes.driver.pod.name" in settings.key_set()

    def test_what_is_over_is_not_begun_anew_and_what_was_disrupted_goes_on(self, documents: dict[str, Any]) -> None:
        spec = documents["Job"]["spec"]
        disrupted, over = spec["podFailurePolicy"]["rules"]
        assert disrupted == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
        assert (over["action"], over["onExitCodes"]["values"]) == ("FailJob", FOR_PEOPLE)
        assert (spec["parallelism"], spec["podReplacementPolicy"]) == (1, "Failed")
        assert spec["template"]["spec"]["terminationGracePeriodSeconds"] >= 60
