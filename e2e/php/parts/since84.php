<?php
class Hooked
{
    public int $value {
        get => spin();
        set { spin(); }
    }
}

function c80() { return (new Hooked)->value; }
function c81() { $h = new Hooked; $h->value = 3; }
function c82() { array_find([1], fn ($x) => spin()); }
