import java.util.Arrays;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.accumulators.LongMinimum;
import org.apache.flink.api.common.eventtime.SerializableTimestampAssigner;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.FileSourceSplit;
import org.apache.flink.core.fs.Path;
import org.apache.flink.formats.parquet.ParquetColumnarRowInputFormat;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.util.ParameterTool;
import org.apache.hadoop.conf.Configuration;

/** The records of a program: pairs of a key and a value, from Parquet files or made in memory. */
abstract class Input {
    static final TypeInformation<Tuple2<Long, Long>> PAIR = Types.TUPLE(Types.LONG, Types.LONG);

    /** Returns the input that the arguments of the program describe. */
    static Input of(ParameterTool parameters) {
        if (parameters.has("data")) {
            return new Files(new Path(parameters.get("data")));
        }
        int parallelism = parameters.getInt("parallelism", 2);
        return new Generated(parameters.getLong("records"), parameters.getLong("keys"), parallelism);
    }

    /** Returns pairs with event times and watermarks. */
    abstract DataStream<Tuple2<Long, Long>> timed(StreamExecutionEnvironment environment);

    /** Returns pairs without event times. */
    abstract DataStream<Tuple2<Long, Long>> untimed(StreamExecutionEnvironment environment);

    /** Parquet files with the columns k, v and, where times are asked for, ts: all of them long. */
    private static final class Files extends Input {
        private static final int BATCH_ROWS = 2048;
        private final Path directory;

        Files(Path directory) {
            this.directory = directory;
        }

        @Override
        DataStream<Tuple2<Long, Long>> timed(StreamExecutionEnvironment environment) {
            return pairs(environment, times((row, previous) -> row.getLong(2)), "k", "v", "ts");
        }

        @Override
        DataStream<Tuple2<Long, Long>> untimed(StreamExecutionEnvironment environment) {
            return pairs(environment, WatermarkStrategy.noWatermarks(), "k", "v");
        }

        private DataStream<Tuple2<Long, Long>> pairs(
                StreamExecutionEnvironment environment, WatermarkStrategy<RowData> times, String... columns) {
            LogicalType[] types = new LogicalType[columns.length];
            Arrays.fill(types, new BigIntType());
            RowType rows = RowType.of(types, columns);
            ParquetColumnarRowInputFormat<FileSourceSplit> format =
                    new ParquetColumnarRowInputFormat<>(
                            new Configuration(), rows, InternalTypeInfo.of(rows), BATCH_ROWS, true, true);
            FileSource<RowData> source =
                    FileSource.forBulkFileFormat(format, directory).setSplitAssigner(FilesInOrder::new).build();
            return environment.fromSource(source, times, "files").map(new PairOfRow()).returns(PAIR);
        }
    }

    /** Records made of consecutive numbers, the same in every run. */
    private static final class Generated extends Input {
        /** How many records of a subtask share a millisecond: ten seconds of two subtasks hold 1 M records. */
        private static final long PER_MILLISECOND = 50;

        private final long records;
        private final long keys;
        private final long perSubtask;

        Generated(long records, long keys, int parallelism) {
            this.records = records;
            this.keys = keys;
            this.perSubtask = (records + parallelism - 1) / parallelism;
        }

        @Override
        DataStream<Tuple2<Long, Long>> timed(StreamExecutionEnvironment environment) {
            // A subtask counts through a range of its own; all of them go through the same times.
            long perRange = perSubtask;
            return pairs(environment, times((number, previous) -> number % perRange / PER_MILLISECOND));
        }

        @Override
        DataStream<Tuple2<Long, Long>> untimed(StreamExecutionEnvironment environment) {
            return pairs(environment, WatermarkStrategy.noWatermarks());
        }

        private DataStream<Tuple2<Long, Long>> pairs(
                StreamExecutionEnvironment environment, WatermarkStrategy<Long> times) {
            return environment
                    .fromSource(new NumberSequenceSource(0, records - 1), times, "numbers")
                    .map(new PairOfNumber(keys))
                    .returns(PAIR);
        }
    }

    private static <T> WatermarkStrategy<T> times(SerializableTimestampAssigner<T> assigner) {
        return WatermarkStrategy.<T>forMonotonousTimestamps().withTimestampAssigner(assigner);
    }

    /** Makes pairs, counts them and notes when the first one came. The pair is one object, used again and again. */
    private abstract static class ToPair<T> extends RichMapFunction<T, Tuple2<Long, Long>> {
        private final Tuple2<Long, Long> pair = new Tuple2<>();
        private long count;
        private transient LongMinimum firstRecord;
        private transient LongCounter records;

        abstract void fill(Tuple2<Long, Long> pair, T value);

        @Override
        public void open(OpenContext context) {
            firstRecord = new LongMinimum();
            records = new LongCounter();
            getRuntimeContext().addAccumulator(Tally.FIRST_RECORD, firstRecord);
            getRuntimeContext().addAccumulator(Tally.RECORDS, records);
        }

        @Override
        public Tuple2<Long, Long> map(T value) {
            if (count++ == 0) {
                firstRecord.add(System.nanoTime());
            }
            fill(pair, value);
            return pair;
        }

        @Override
        public void close() {
            records.add(count);
        }
    }

    private static final class PairOfRow extends ToPair<RowData> {
        @Override
        void fill(Tuple2<Long, Long> pair, RowData row) {
            pair.f0 = row.getLong(0);
            pair.f1 = row.getLong(1);
        }
    }

    private static final class PairOfNumber extends ToPair<Long> {
        private final long keys;

        PairOfNumber(long keys) {
            this.keys = keys;
        }

        /** Returns as random a number as SplittableRandom would: keys that come in turn would suit the caches. */
        private static long mix(long number) {
            long mixed = (number ^ (number >>> 30)) * 0xbf58476d1ce4e5b9L;
            mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
            return mixed ^ (mixed >>> 31);
        }

        @Override
        void fill(Tuple2<Long, Long> pair, Long number) {
            long mixed = mix(number);
            pair.f0 = Long.remainderUnsigned(mixed, keys);
            pair.f1 = (mixed >>> 32) % 100;
        }
    }
}
