<?php
enum Suit: string
{
    case Hearts = 'h';
    public function spins() { return spin(); }
}

function c70() { Suit::from('h')->spins(); }
function c71() { $f = spin(...); $f(); }
function c72() { $f = (new Thing)->method(...); array_map($f, []); $f(); }
function c73() { $f = new Fiber(function () { even(3); }); $f->start(); }
function c74()
{
    $f = new Fiber(function () {
        Fiber::suspend(1);
        (function () {
            $g = new Fiber('recursive');
            $g->start(2);
        })();
    });
    $f->start();
    $f->resume();
}
function c75() { (new Thing)->method(...)->__invoke(); }
function c76() { match (true) { default => spin() }; }
