package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/semel-dev/semel"
)

// Bounds of what settle reads: a file of settlements, and a body. The body is
// kept in the store, where it is read with every repeat.
const (
	maxSettlements = 256 << 20
	maxBody        = 1 << 20
)

// maxMistakes bounds how many mistakes of a file are told.
const maxMistakes = 20

// readInput reads a file, or standard input for "-".
func readInput(file string, in io.Reader, limit int64) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, &exitError{exitData, err}
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	switch {
	case err != nil:
		return nil, &exitError{exitData, err}
	case int64(len(data)) > limit:
		return nil, &exitError{exitData, fmt.Errorf("%s is larger than %s", file, inBytes(limit))}
	}
	return data, nil
}

func readBody(file string, in io.Reader) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	return readInput(file, in, maxBody)
}

// readSettlements reads a file of settlements to its end before anything is
// done, and tells all its mistakes at once.
func readSettlements(file string, in io.Reader) ([]settlement, error) {
	data, err := readInput(file, in, maxSettlements)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // as spreadsheets write it
	p := &settlements{seen: make(map[semel.Key]int)}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		p.json(data)
	} else {
		p.csv(data)
	}
	if len(p.mistakes) == 0 && len(p.lines) == 0 {
		p.mistakes = []string{"there is no line to settle"}
	}
	if n := len(p.mistakes); n > 0 {
		if n > maxMistakes {
			p.mistakes = append(p.mistakes[:maxMistakes], fmt.Sprintf("and %d more", n-maxMistakes))
		}
		return nil, &exitError{exitData, fmt.Errorf("%s cannot be read, nothing was changed:\n  %s", file, strings.Join(p.mistakes, "\n  "))}
	}
	return p.lines, nil
}

// settlements is a file being read.
type settlements struct {
	lines    []settlement
	seen     map[semel.Key]int // → line
	mistakes []string
}

func (p *settlements) mistake(line int, format string, args ...any) {
	p.mistakes = append(p.mistakes, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
}

func (p *settlements) add(line int, key semel.Key, outcome string) {
	switch err := key.Check(); {
	case err != nil:
		p.mistake(line, "%s", strings.TrimPrefix(err.Error(), "semel: invalid: "))
		return
	case outcome != outcomeDone && outcome != outcomeNotDone:
		p.mistake(line, "the outcome is %s, it must be %s or %s", visible(outcome), outcomeDone, outcomeNotDone)
		return
	case p.seen[key] > 0:
		p.mistake(line, "%s stands on line %d already", name(key), p.seen[key])
		return
	}
	p.seen[key] = line
	p.lines = append(p.lines, settlement{line, key, outcome})
}

// csvHead is a first line that is a heading and no settlement.
var csvHead = []string{"scope", "id", "outcome"}

func (p *settlements) csv(data []byte) {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	for {
		fields, err := r.Read()
		var parse *csv.ParseError
		switch {
		case err == io.EOF:
			return
		case errors.As(err, &parse):
			p.mistake(parse.Line, "%v", parse.Err)
			return // what follows a broken quote means nothing
		}
		line, _ := r.FieldPos(0)
		switch {
		case slices.Equal(fields, csvHead) && len(p.lines)+len(p.mistakes) == 0:
		case len(fields) != len(csvHead):
			p.mistake(line, "%s where there must be three: scope, id, outcome", plural(len(fields), "field"))
		default:
			p.add(line, semel.Key{Scope: fields[0], ID: fields[1]}, fields[2])
		}
	}
}

func (p *settlements) json(data []byte) {
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, len(data)+1)
	for line := 1; s.Scan(); line++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		var in struct{ Scope, ID, Outcome string }
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			p.mistake(line, "%s", strings.TrimPrefix(err.Error(), "json: "))
			continue
		}
		if _, err := d.Token(); err != io.EOF {
			p.mistake(line, "there is more than one object")
			continue
		}
		p.add(line, semel.Key{Scope: in.Scope, ID: in.ID}, in.Outcome)
	}
}
