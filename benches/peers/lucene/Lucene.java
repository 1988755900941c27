// Lucene, the fastest way it has for this: one segment, the newest signal first so that a page is
// the first documents that match, terms for everything that is looked up, doc values with skippers
// for ranges, ids and facet counts, no scoring, and no query cache.
//
//   java Lucene build DIR     builds from records on standard input, one a line
//   java Lucene serve DIR     answers commands on standard input, one a line
//
// The formats of lines are those of `src/engines/lucene.rs`.

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.NumericUtils;

public final class Lucene {
    static final int PAGE = 50;
    static final String ABSENT = "-";

    public static void main(String[] arguments) throws IOException {
        try (var directory = new MMapDirectory(Path.of(arguments[1]))) {
            var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
            if (arguments[0].equals("build")) {
                build(directory, in);
            } else {
                new Lucene(directory).serve(in);
            }
        }
    }

    // Building.

    static void build(MMapDirectory directory, BufferedReader in) throws IOException {
        var config = new IndexWriterConfig(new WhitespaceAnalyzer());
        config.setRAMBufferSizeMB(1024);
        config.setMergeScheduler(new SerialMergeScheduler());
        try (var writer = new IndexWriter(directory, config)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                writer.addDocument(document(line.split("\t", -1)));
            }
            writer.forceMerge(1);
        }
    }

    static Document document(String[] record) {
        var document = new Document();
        document.add(new NumericDocValuesField("id", Long.parseUnsignedLong(record[0])));
        document.add(new Field("title", record[1], TITLE));
        document.add(new StringField("company", record[2], Field.Store.NO));
        if (!record[3].equals(ABSENT)) {
            document.add(NumericDocValuesField.indexedField("day", Long.parseLong(record[3])));
        }
        if (!record[4].equals(ABSENT)) {
            long amount = NumericUtils.doubleToSortableLong(Double.parseDouble(record[4]));
            document.add(NumericDocValuesField.indexedField("amount", amount));
        }
        String[] facets = record[5].split(",");
        for (int facet = 0; facet < facets.length; facet++) {
            document.add(new StringField("facet" + facet, facets[facet], Field.Store.NO));
            document.add(new NumericDocValuesField("facet" + facet, Long.parseLong(facets[facet])));
        }
        return document;
    }

    static final FieldType TITLE = new FieldType();

    static {
        TITLE.setIndexOptions(IndexOptions.DOCS_AND_FREQS_AND_POSITIONS);
        TITLE.setOmitNorms(true);
        TITLE.setTokenized(true);
        TITLE.freeze();
    }

    // Answering.

    final IndexSearcher searcher;
    final LeafReaderContext leaf;
    final Map<Integer, Question> questions = new HashMap<>();

    Lucene(MMapDirectory directory) throws IOException {
        searcher = new IndexSearcher(DirectoryReader.open(directory));
        searcher.setQueryCache(null);
        if (searcher.getIndexReader().leaves().size() != 1) {
            throw new IllegalStateException("the index has to have one segment");
        }
        leaf = searcher.getIndexReader().leaves().get(0);
    }

    void serve(BufferedReader in) throws IOException {
        var out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out)));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "question" -> questions.put(Integer.parseInt(words[1]), new Question(words));
                case "page" -> out.println(joined(question(words[1]).page(words[2].equals("middle"))));
                case "count" -> out.println(question(words[1]).count());
                case "facets" -> out.println(tally(question(words[1])));
                case "pass" -> out.println(pass(words[1], words[2].split(" ")));
                default -> throw new IllegalArgumentException(line);
            }
            out.flush();
        }
    }

    Question question(String number) {
        return questions.get(Integer.parseInt(number));
    }

    /** Nanoseconds of a task for each question, in the order given. */
    String pass(String task, String[] numbers) throws IOException {
        long[] times = new long[numbers.length];
        for (int i = 0; i < numbers.length; i++) {
            Question question = question(numbers[i]);
            long started = System.nanoTime();
            question.run(task);
            times[i] = System.nanoTime() - started;
        }
        return joined(times);
    }

    static String joined(long[] numbers) {
        var text = new StringBuilder();
        for (long number : numbers) {
            text.append(text.isEmpty() ? "" : " ").append(Long.toUnsignedString(number));
        }
        return text.toString();
    }

    /** Each counted facet as FACET:VALUE=COUNT,..., separated by spaces. */
    static String tally(Question question) throws IOException {
        var text = new StringBuilder();
        for (Map.Entry<Integer, long[]> facet : question.facets().entrySet()) {
            text.append(text.isEmpty() ? "" : " ").append(facet.getKey()).append(':');
            for (int value = 0; value < facet.getValue().length; value++) {
                text.append(value == 0 ? "" : ",").append(facet.getValue()[value]);
            }
        }
        return text.toString();
    }

    /** A question as the harness gives it, and as queries once they are made. */
    final class Question {
        final String[] parts;
        final int first;
        final int middle;
        final int[] counted;
        final int[] bounds;
        Query made;
        Map<Integer, Query> withoutFacet;

        Question(String[] words) {
            parts = words;
            first = Integer.parseInt(words[2]);
            middle = Integer.parseInt(words[3]);
            String[] counting = words[12].split(",");
            counted = new int[counting.length];
            bounds = new int[counting.length];
            for (int i = 0; i < counting.length; i++) {
                String[] facet = counting[i].split("<");
                counted[i] = Integer.parseInt(facet[0]);
                bounds[i] = Integer.parseInt(facet[1]);
            }
        }

        /** Not discarded by the compiler: results go to a field. */
        long sink;

        void run(String task) throws IOException {
            switch (task) {
                case "Page" -> sink += page(false).length;
                case "Middle" -> sink += page(true).length;
                case "Count" -> sink += count();
                case "Facets" -> sink += facets().size();
                case "PageMade" -> sink += newestIds(query(-1), first).length;
                case "CountMade" -> sink += searcher.count(query(-1));
                default -> throw new IllegalArgumentException(task);
            }
        }

        long[] page(boolean isMiddle) throws IOException {
            return newestIds(prepared(), isMiddle ? middle : first);
        }

        long count() throws IOException {
            return searcher.count(prepared());
        }

        Query prepared() {
            if (made == null) {
                made = query(-1);
            }
            return made;
        }

        /** The query with the condition of one facet left out; with -1, all of it. */
        Query query(int without) {
            var query = new BooleanQuery.Builder();
            int positive = 0;
            for (String term : list(parts[4], " ")) {
                query.add(word(term), BooleanClause.Occur.FILTER);
                positive++;
            }
            if (!parts[5].isEmpty()) {
                query.add(new PhraseQuery("title", parts[5].split(" ")), BooleanClause.Occur.FILTER);
                positive++;
            }
            if (!parts[6].isEmpty()) {
                query.add(any("title", parts[6].split(" ")), BooleanClause.Occur.FILTER);
                positive++;
            }
            for (String facet : list(parts[8], ";")) {
                String[] values = facet.split(":");
                if (Integer.parseInt(values[0]) != without) {
                    query.add(any("facet" + values[0], values[1].split(",")), BooleanClause.Occur.FILTER);
                    positive++;
                }
            }
            if (!parts[9].isEmpty()) {
                query.add(any("company", parts[9].split(",")), BooleanClause.Occur.FILTER);
                positive++;
            }
            if (!parts[10].isEmpty()) {
                String[] days = parts[10].split(",");
                query.add(range("day", Long.parseLong(days[0]), Long.parseLong(days[1])), BooleanClause.Occur.FILTER);
                positive++;
            }
            if (!parts[11].isEmpty()) {
                String[] amounts = parts[11].split(",");
                long min = NumericUtils.doubleToSortableLong(Double.parseDouble(amounts[0]));
                long max = NumericUtils.doubleToSortableLong(Double.parseDouble(amounts[1]));
                query.add(range("amount", min, max), BooleanClause.Occur.FILTER);
                positive++;
            }
            if (positive == 0) {
                query.add(new MatchAllDocsQuery(), BooleanClause.Occur.FILTER);
            }
            for (String term : list(parts[7], " ")) {
                query.add(word(term), BooleanClause.Occur.MUST_NOT);
            }
            return new ConstantScoreQuery(query.build());
        }

        /** Counts by value of each counted facet; a facet's own condition is left out. */
        Map<Integer, long[]> facets() throws IOException {
            if (withoutFacet == null) {
                withoutFacet = new HashMap<>();
                for (String facet : list(parts[8], ";")) {
                    int number = Integer.parseInt(facet.split(":")[0]);
                    withoutFacet.put(number, query(number));
                }
            }
            Map<Integer, long[]> counts = new HashMap<>();
            List<Integer> free = new ArrayList<>();
            for (int i = 0; i < counted.length; i++) {
                counts.put(counted[i], new long[bounds[i]]);
                Query lifted = withoutFacet.get(counted[i]);
                if (lifted == null) {
                    free.add(counted[i]);
                } else {
                    tally(lifted, List.of(counted[i]), counts);
                }
            }
            if (!free.isEmpty()) {
                tally(prepared(), free, counts);
            }
            return counts;
        }
    }

    static String[] list(String text, String separator) {
        return text.isEmpty() ? new String[0] : text.split(separator);
    }

    static Query word(String term) {
        return new TermQuery(new Term("title", term));
    }

    static Query any(String field, String[] values) {
        if (values.length == 1) {
            return new TermQuery(new Term(field, values[0]));
        }
        var terms = new ArrayList<BytesRef>(values.length);
        for (String value : values) {
            terms.add(new BytesRef(value));
        }
        return new TermInSetQuery(field, terms);
    }

    static Query range(String field, long min, long max) {
        return NumericDocValuesField.newSlowRangeQuery(field, min, max);
    }

    Weight weight(Query query, ScoreMode mode) throws IOException {
        return searcher.createWeight(searcher.rewrite(query), mode, 1);
    }

    /** Ids of the first matches from a document on. */
    long[] newestIds(Query query, int first) throws IOException {
        Scorer scorer = weight(query, ScoreMode.COMPLETE_NO_SCORES).scorer(leaf);
        if (scorer == null) {
            return new long[0];
        }
        NumericDocValues ids = leaf.reader().getNumericDocValues("id");
        DocIdSetIterator matches = scorer.iterator();
        long[] page = new long[PAGE];
        int found = 0;
        int document = matches.advance(first);
        while (document != DocIdSetIterator.NO_MORE_DOCS && found < PAGE) {
            ids.advanceExact(document);
            page[found++] = ids.longValue();
            document = matches.nextDoc();
        }
        return java.util.Arrays.copyOf(page, found);
    }

    /** Adds the matches of a query to the counts of some facets, a buffer of documents at a time. */
    void tally(Query query, List<Integer> facets, Map<Integer, long[]> counts) throws IOException {
        BulkScorer scorer = weight(query, ScoreMode.COMPLETE_NO_SCORES).bulkScorer(leaf);
        if (scorer == null) {
            return;
        }
        int n = facets.size();
        NumericDocValues[] columns = new NumericDocValues[n];
        long[][] sums = new long[n][];
        for (int i = 0; i < n; i++) {
            columns[i] = leaf.reader().getNumericDocValues("facet" + facets.get(i));
            sums[i] = counts.get(facets.get(i));
        }
        scorer.score(new Tally(columns, sums), null, 0, DocIdSetIterator.NO_MORE_DOCS);
    }

    static final class Tally implements LeafCollector {
        final NumericDocValues[] columns;
        final long[][] sums;
        final int[] documents = new int[256];
        final long[] values = new long[256];

        Tally(NumericDocValues[] columns, long[][] sums) {
            this.columns = columns;
            this.sums = sums;
        }

        @Override
        public void setScorer(Scorable scorer) {}

        @Override
        public void collect(int document) throws IOException {
            for (int i = 0; i < columns.length; i++) {
                columns[i].advanceExact(document);
                sums[i][(int) columns[i].longValue()]++;
            }
        }

        @Override
        public void collect(DocIdStream stream) throws IOException {
            for (int n = stream.intoArray(documents); n != 0; n = stream.intoArray(documents)) {
                for (int i = 0; i < columns.length; i++) {
                    columns[i].longValues(n, documents, values, 0);
                    for (int j = 0; j < n; j++) {
                        sums[i][(int) values[j]]++;
                    }
                }
            }
        }
    }
}
