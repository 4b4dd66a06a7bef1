module github.com/grapnel-go/grapnel

go 1.26
