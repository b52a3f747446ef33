<?php
namespace Name\Space;

class Inner
{
    public static function run($f)
    {
        return $f();
    }
}

function inside()
{
    return Inner::run(function () {
        return \spin();
    });
}
