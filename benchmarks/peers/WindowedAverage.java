import java.time.Duration;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** The sum and the average of each key's values in tumbling event-time windows. */
final class WindowedAverage {
    /** What has been added up so far. */
    public static final class SumAndCount {
        public long sum;
        public long count;
    }

    private static final TypeInformation<SumAndCount> ACCUMULATOR = Types.POJO(SumAndCount.class);
    private static final TypeInformation<Tuple3<Long, Long, Double>> RESULT =
            Types.TUPLE(Types.LONG, Types.LONG, Types.DOUBLE);

    private WindowedAverage() {}

    /** Returns a key, its sum and its average for every window in which the key has values. */
    static DataStream<Tuple3<Long, Long, Double>> of(DataStream<Tuple2<Long, Long>> pairs, long windowMillis) {
        return pairs.keyBy(pair -> pair.f0, Types.LONG)
                .window(TumblingEventTimeWindows.of(Duration.ofMillis(windowMillis)))
                .aggregate(new Average(), new WithKey(), ACCUMULATOR, RESULT);
    }

    private static final class Average implements AggregateFunction<Tuple2<Long, Long>, SumAndCount, SumAndCount> {
        @Override
        public SumAndCount createAccumulator() {
            return new SumAndCount();
        }

        @Override
        public SumAndCount add(Tuple2<Long, Long> pair, SumAndCount accumulator) {
            accumulator.sum += pair.f1;
            accumulator.count++;
            return accumulator;
        }

        @Override
        public SumAndCount getResult(SumAndCount accumulator) {
            return accumulator;
        }

        @Override
        public SumAndCount merge(SumAndCount one, SumAndCount other) {
            one.sum += other.sum;
            one.count += other.count;
            return one;
        }
    }

    private static final class WithKey
            implements WindowFunction<SumAndCount, Tuple3<Long, Long, Double>, Long, TimeWindow> {
        @Override
        public void apply(
                Long key, TimeWindow window, Iterable<SumAndCount> folded, Collector<Tuple3<Long, Long, Double>> out) {
            SumAndCount total = folded.iterator().next();
            out.collect(Tuple3.of(key, total.sum, (double) total.sum / total.count));
        }
    }
}
