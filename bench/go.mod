module github.com/grapnel-go/grapnel/bench

go 1.26.0

replace github.com/grapnel-go/grapnel => ../
