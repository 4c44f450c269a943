// Package sdk is what a twg plugin is written against: the types and
// interfaces of sources and sinks, and nothing else.
//
// A plugin author implements [Source] or [Sink] and hands it to
// sdk/serve.Main. The host's client of a plugin process implements the very
// same interfaces, so that an in-process fake, a real process and a test
// double are interchangeable.
//
// The one rule everything here serves: a source position is committed only
// after the sink that gates has said that what lies below it is durable.
// Positions may lag, they never lead.
//
// The package imports the standard library and its own sub-packages only.
package sdk
