import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;
import java.util.PriorityQueue;
import org.apache.flink.connector.file.src.FileSourceSplit;
import org.apache.flink.connector.file.src.assigners.FileSplitAssigner;

/**
 * Hands out files in the order of their names, so that event time goes forward in every reader.
 *
 * <p>Flink's own assigners begin with the last file; with event times that grow from file to file, most records would
 * be late.
 */
final class FilesInOrder implements FileSplitAssigner {
    private final PriorityQueue<FileSourceSplit> splits =
            new PriorityQueue<>(
                    Comparator.comparing((FileSourceSplit split) -> split.path().toString())
                            .thenComparingLong(FileSourceSplit::offset));

    FilesInOrder(Collection<FileSourceSplit> splits) {
        this.splits.addAll(splits);
    }

    @Override
    public Optional<FileSourceSplit> getNext(String hostname) {
        return Optional.ofNullable(splits.poll());
    }

    @Override
    public void addSplits(Collection<FileSourceSplit> added) {
        splits.addAll(added);
    }

    @Override
    public Collection<FileSourceSplit> remainingSplits() {
        return splits;
    }
}
