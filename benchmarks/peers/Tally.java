import org.apache.flink.api.common.accumulators.DoubleCounter;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.accumulators.LongMaximum;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** Counts results, adds up their second fields, and lets none of them through. */
final class Tally<T extends Tuple> extends RichFilterFunction<T> {
    /** The accumulators in which the operators of a job leave what they saw; times are those of nanoTime. */
    static final String FIRST_RECORD = "first record";

    static final String RECORDS = "records";
    static final String LAST_RESULT = "last result";
    static final String RESULTS = "results";
    static final String CHECKSUM = "checksum";

    private long count;
    private double sum;
    private transient LongMaximum lastResult;
    private transient LongCounter results;
    private transient DoubleCounter checksum;

    /** Ends a program with a tally of its results. */
    static <T extends Tuple> void end(DataStream<T> results) {
        results.filter(new Tally<>()).sinkTo(new DiscardingSink<>());
    }

    @Override
    public void open(OpenContext context) {
        lastResult = new LongMaximum();
        results = new LongCounter();
        checksum = new DoubleCounter();
        getRuntimeContext().addAccumulator(LAST_RESULT, lastResult);
        getRuntimeContext().addAccumulator(RESULTS, results);
        getRuntimeContext().addAccumulator(CHECKSUM, checksum);
    }

    @Override
    public boolean filter(T result) {
        count++;
        Number number = result.getField(1);
        sum += number.doubleValue();
        return false;
    }

    @Override
    public void close() {
        lastResult.add(System.nanoTime());
        results.add(count);
        checksum.add(sum);
    }
}
