from __future__ import annotations

import pytest

from rekindle.common.configuration import Configuration
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import ConfigurationError
from rekindle.runtime.master.job_settings import settle


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_is_not_the_current_directory(path: str) -> None:
    configuration = Configuration().set_string("execution.state-recovery.path", path)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    with pytest.raises(ConfigurationError, match=r"execution\.state-recovery\.path is empty"):
        settle("a" * 32, "job", env._configuration, env._checkpoint_config, env._config)
