// Package config turns a pipeline file's text into a Config, or into every
// problem that it has, each with file, line, snippet and what to do.
//
// It starts nothing and reads nothing by itself: the environment, files and
// what plugins say about themselves are passed in. No secret leaves it except
// inside a block's sdk.Settings: values that come from env() or file(), and
// whatever is written in a place that is not known to be harmless, are masked
// in every diagnostic.
package config
