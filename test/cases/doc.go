// Package cases runs failures that users of comparable systems have reported
// against the product from outside: twg, the source and the sink are three
// real processes, a broker is in the test, and what arrived is read by readers
// that share no code with the product. docs/cases.md says which test shows
// which case. It is a test only.
package cases
