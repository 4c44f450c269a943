package config

import "github.com/hashicorp/hcl/v2/hclsyntax"

// nesting is how deep a parser that recurses must go: into brackets and
// templates, and through signs and conditions, which nest without them.
func nesting(tokens hclsyntax.Tokens) int {
	depth, signs, conditions, deepest := 0, 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
			hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
			hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			depth = max(0, depth-1)
		case hclsyntax.TokenBang, hclsyntax.TokenMinus:
			signs++
			deepest = max(deepest, depth+signs+conditions)
			continue
		case hclsyntax.TokenQuestion:
			conditions++
		case hclsyntax.TokenEqual:
			conditions = 0
		}
		signs = 0
		deepest = max(deepest, depth+conditions)
	}
	return deepest
}
