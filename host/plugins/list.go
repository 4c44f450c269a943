package plugins

import (
	"context"
	"fmt"

	"github.com/twg-io/twg/sdk"
)

// Row is one plugin of a list: what it says it is, or why it does not work.
type Row struct {
	File        File
	Description sdk.Description
	Err         error
}

// List launches each plugin of dirs to ask what it is. A plugin that does not
// work is a row with an error; two that call themselves alike are two.
func List(ctx context.Context, dirs []string, opt Options) ([]Row, error) {
	files, err := Discover(dirs)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(files))
	byName := map[string]int{}
	for i, f := range files {
		rows[i] = ask(ctx, f, opt)
		if rows[i].Err != nil {
			continue
		}
		name := rows[i].Description.Name
		if k, twice := byName[name]; twice {
			err := fmt.Errorf("list plugins: %s and %s both call themselves %q; remove one of them", files[k].Path, f.Path, name)
			rows[k].Err, rows[i].Err = err, err
		}
		byName[name] = i
	}
	return rows, nil
}

func ask(ctx context.Context, f File, opt Options) Row {
	p, err := Launch(ctx, f, opt)
	if err != nil {
		return Row{File: f, Err: err}
	}
	defer p.Stop(ctx)
	return Row{File: f, Description: p.Describe()}
}
