package rawtable

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/plugins/postgres/copyrow"
)

// openStage opens the transaction and makes the temporary table. Constraints
// that the table defers to the commit are checked at once, so that a row that
// breaks one is found.
func (w *Writer) openStage(ctx context.Context) error {
	return w.exec(ctx, begin+"; "+fmt.Sprintf(stageSQL, copyrow.Columns, w.t.sql)+"; set constraints all immediate")
}

// fromStage moves n staged rows into the table. They go in the order of their
// ids, so that two who do this at once do not wait for each other in a circle.
// Then every id must be there, as this stream's row of this position.
func (w *Writer) fromStage(ctx context.Context, n int) error {
	err := w.exec(ctx, "insert into "+w.t.sql+" ("+copyrow.Columns+") select "+copyrow.Columns+" from "+stage+
		" order by \"_twg_record_id\" on conflict (\"_twg_record_id\") do nothing")
	if err != nil {
		return err
	}
	if err := w.compare(ctx, n); err != nil {
		return err
	}
	return w.exec(ctx, "delete from "+stage)
}

// who names the stream and the position of a row.
const who = `concat_ws('/', %[1]s."cluster", %[1]s."topic", %[1]s."incarnation", %[1]s."partition") || ' at ' || %[1]s."position"`

var compareSQL = `select count(*) over (), s."_twg_record_id"::text, ` + fmt.Sprintf(who, "t") + `, ` + fmt.Sprintf(who, "s") + `,
	(t."cluster", t."topic", t."incarnation", t."partition", t."position") = (s."cluster", s."topic", s."incarnation", s."partition", s."position") as same
	from %s s join %s t using ("_twg_record_id") order by same limit 1`

// compare finds out whether an id that was there already is another record's.
func (w *Writer) compare(ctx context.Context, n int) error {
	var found int
	var id, have, want string
	var same bool
	err := w.conn.QueryRow(ctx, fmt.Sprintf(compareSQL, stage, w.t.sql)).Scan(&found, &id, &have, &want, &same)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("of %d rows that were staged none is in the table", n)
	case err != nil:
		return err
	case !same:
		return mismatch(id, have, want)
	case found != n:
		return fmt.Errorf("of %d rows that were staged %d are in the table", n, found)
	}
	return nil
}
