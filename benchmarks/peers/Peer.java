import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ParameterTool;

/**
 * Runs one of the programs in a cluster inside this JVM and prints a line of JSON for each round.
 *
 * <p>Arguments:
 *
 * <ul>
 *   <li>{@code --program window|keyed_state}
 *   <li>{@code --data DIRECTORY}: Parquet files to read, in the order of their names. Without it the
 *       records are made in memory, {@code --records N} of them.
 *   <li>{@code --keys N}: how many keys there are, if the records are made in memory.
 *   <li>{@code --window-ms N}: the size of a window.
 *   <li>{@code --parallelism N}, {@code --rounds N}.
 *   <li>Whatever else there is are settings of Flink: {@code --state.backend.type rocksdb}.
 * </ul>
 */
public final class Peer {
    private static final OperatingSystemMXBean CPU =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private Peer() {}

    public static void main(String[] arguments) throws Exception {
        ParameterTool parameters = ParameterTool.fromArgs(arguments);
        for (int round = 0; round < parameters.getInt("rounds", 1); round++) {
            runOnce(parameters);
        }
    }

    private static void runOnce(ParameterTool parameters) throws Exception {
        Configuration settings = Configuration.fromMap(parameters.toMap());
        settings.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        settings.set(PipelineOptions.GENERIC_TYPES, false); // nothing falls back to Kryo unnoticed
        settings.set(PipelineOptions.OBJECT_REUSE, true);
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.createLocalEnvironment(parameters.getInt("parallelism", 2), settings);

        String program = parameters.getRequired("program");
        Input input = Input.of(parameters);
        switch (program) {
            case "window":
                long windowSize = parameters.getLong("window-ms", 10_000);
                Tally.end(WindowedAverage.of(input.timed(environment), windowSize));
                break;
            case "keyed_state":
                Tally.end(CountWindowAverage.of(input.untimed(environment)));
                break;
            default:
                throw new IllegalArgumentException("There is no program " + program + ": window, keyed_state");
        }

        long started = System.nanoTime();
        long startedCpu = CPU.getProcessCpuTime();
        JobExecutionResult result = environment.execute(program);
        double wall = (System.nanoTime() - started) / 1e9;
        double cpu = (CPU.getProcessCpuTime() - startedCpu) / 1e9;
        long first = result.getAccumulatorResult(Tally.FIRST_RECORD);
        long last = result.getAccumulatorResult(Tally.LAST_RESULT);
        long records = result.getAccumulatorResult(Tally.RECORDS);
        long emitted = result.getAccumulatorResult(Tally.RESULTS);
        double checksum = result.getAccumulatorResult(Tally.CHECKSUM);
        System.out.printf(
                Locale.ROOT,
                "{\"records\": %d, \"seconds\": %.3f, \"wall_seconds\": %.3f, \"cpu_seconds\": %.3f,"
                        + " \"results\": %d, \"checksum\": %.1f}%n",
                records, (last - first) / 1e9, wall, cpu, emitted, checksum);
    }
}
