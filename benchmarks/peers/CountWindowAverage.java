import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** The average of every two values of a key: what {@code benchmarks/keyed_state.py} computes. */
final class CountWindowAverage extends KeyedProcessFunction<Long, Tuple2<Long, Long>, Tuple2<Long, Double>> {
    private transient ValueState<Tuple2<Long, Long>> countAndSum;

    /** Returns a key and an average for every two values of the key. */
    static DataStream<Tuple2<Long, Double>> of(DataStream<Tuple2<Long, Long>> pairs) {
        return pairs.keyBy(pair -> pair.f0, Types.LONG)
                .process(new CountWindowAverage(), Types.TUPLE(Types.LONG, Types.DOUBLE));
    }

    @Override
    public void open(OpenContext context) {
        countAndSum = getRuntimeContext().getState(
                new ValueStateDescriptor<>("sum", Types.<Tuple2<Long, Long>>TUPLE(Types.LONG, Types.LONG)));
    }

    @Override
    public void processElement(Tuple2<Long, Long> pair, Context context, Collector<Tuple2<Long, Double>> out)
            throws Exception {
        Tuple2<Long, Long> current = countAndSum.value();
        if (current == null) {
            current = Tuple2.of(0L, 0L);
        }
        current.f0++;
        current.f1 += pair.f1;
        if (current.f0 >= 2) {
            countAndSum.clear();
            out.collect(Tuple2.of(pair.f0, (double) current.f1 / current.f0));
        } else {
            countAndSum.update(current);
        }
    }
}
