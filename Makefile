# Each target covers all modules of go.work: "work" is go's pattern for them.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c

.PHONY: help build test soak bench lint demo

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build bin/semel
	go build -trimpath -o bin/semel ./cmd/semel

test: ## Run every test under the race detector; a skipped test is a failure
	go test -race -json work | go run ./internal/repo/noskip

soak: ## Run every test, and the long ones behind the build tag soak
	go test -race -json -tags soak -timeout 2h work | go run ./internal/repo/noskip

bench: ## Run every Go benchmark
	go test -run '^$$' -bench . -benchmem work

lint: ## Check formatting, vet and lint, with the linter pinned in internal/tools
	dirs=$$(go list -f '{{.Dir}}/...' -m); $$(GOWORK=off go -C internal/tools tool -n golangci-lint) run --allow-parallel-runners $$dirs

demo: build ## Charge once per intent through a retry storm and a killed gateway
	bin/semel demo
