"""Keep one value per key without writing a class: the shortcuts of Flink's Scala API.

The function gets a record and the state of its key (None if there is none), and returns a result and the new state
(None drops it). PyFlink has no such shortcuts.
"""

from rekindle.datastream import StreamExecutionEnvironment

readings = [("oven", 180), ("oven", 180), ("oven", 195), ("fridge", 5), ("oven", 190), ("fridge", 5), ("fridge", 7)]


def number(reading, count):
    """Number the readings of each device."""
    count = (count or 0) + 1
    device, degrees = reading
    return f"{device} {count}: {degrees}", count


def changes(reading, before):
    """Tell of every change, as no result or one."""
    device, degrees = reading
    changed = before is not None and degrees != before
    return [f"{device} went from {before} to {degrees}"] if changed else [], degrees


def highest_yet(reading, highest):
    """Keep a reading if it is the highest of its device so far."""
    _, degrees = reading
    return highest is None or degrees > highest, degrees if highest is None else max(degrees, highest)


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
devices = env.from_collection(readings).key_by(lambda reading: reading[0])
devices.map_with_state(number).print("map")
devices.flat_map_with_state(changes).print("flat map")
devices.filter_with_state(highest_yet).print("filter")
env.execute("shortcuts for state")
