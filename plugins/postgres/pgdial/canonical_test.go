package pgdial

import (
	"slices"
	"testing"
)

func TestCanonical(t *testing.T) {
	for dsn, want := range map[string][]string{
		"postgres://u:p@Db.Example:5432/d":                   {"db.example:5432/d"},
		"postgres://other@db.example./d?sslmode=require":     {"db.example:5432/d"},
		"host=127.0.0.1 user=u":                              {"localhost:5432/u"},
		"postgres://u@[::1]:5433/d":                          {"localhost:5433/d"},
		"host=b,a port=2,1 dbname=d user=u sslmode=prefer":   {"a:1/d", "b:2/d"},
		"host=/var/run/postgresql dbname=d user=u port=5432": {"/var/run/postgresql:5432/d"},
	} {
		d, err := New(dsn, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Canonical(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", dsn, got, want)
		}
	}
}

func TestDefaultSchema(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://u@h/d":                                               "public",
		"postgres://u@h/d?search_path=Lake":                              "lake",
		`host=h user=u dbname=d search_path='"$user", "Lake", public'`:   "Lake",
		"postgres://u@h/d?options=-csearch_path%3Dlake%20-cwork_mem%3D1": "lake",
		`host=h user=u dbname=d search_path='"$user"'`:                   "public",
	} {
		d, err := New(dsn, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.DefaultSchema(); got != want {
			t.Errorf("%s: %q, want %q", dsn, got, want)
		}
	}
}
