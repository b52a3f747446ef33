<?php
/* Known chains of calls, one after the other: at the end of each, what PHP itself says of its stack is printed, and then
 * the CPU is busy for a while.
 *
 *     chains_target.php MILLISECONDS
 *
 * A line is a JSON list: the name of the chain, and the frames from the root on, as [name, file, line]. Functions that
 * are implemented in C have no file. */

define('BUSY', (int)$argv[1] * 1000000);
define('PARTS', __DIR__ . '/parts/');
$current = '';

/* A frame is where the one that it calls says that it was called. */
function tell($native = null)
{
    global $current;
    $frames = [];
    $at = null;
    foreach (debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS) as $call) {
        $name = $call['function'];
        if (preg_match('/^(include|require)(_once)?$/', $name))
            $name = 'include';
        if (isset($call['class']))
            $name = explode("\0", $call['class'])[0] . '::' . $name;
        $at = $name == 'Closure::__invoke' ? null : $at; /* that of the one that called it */
        $frames[] = [$name, $at ? $at[0] : '', $at ? $at[1] : 0];
        $at = isset($call['file']) ? [$call['file'], $call['line']] : null;
    }
    if ($at) /* the engine calls functions when the script has ended */
        $frames[] = ['{main}', $at[0], $at[1]];
    $frames = array_reverse(array_slice($frames, 1)); /* without this one */
    if ($native)
        $frames[] = [$native, '', 0];
    echo json_encode([$current, $frames], JSON_UNESCAPED_SLASHES), "\n";
}

function spin()
{
    tell();
    $end = hrtime(true) + BUSY;
    $x = 0;
    do {
        for ($i = 0; $i < 300; $i++) {
            $x += $i;
            $x ^= $i;
        }
    } while (hrtime(true) < $end);
    return $x;
}

function native()
{
    $data = str_repeat('x', 2000000);
    $end = hrtime(true) + BUSY;
    tell('hash'); while (hrtime(true) < $end) hash('sha256', $data);
}

class Thing implements IteratorAggregate, ArrayAccess, Countable, JsonSerializable
{
    public $name;
    public function __construct($run = false) { if ($run) spin(); }
    public function method() { return spin(); }
    public static function ofClass() { return spin(); }
    public function __get($name) { return spin(); }
    public function __set($name, $value) { spin(); }
    public function __isset($name) { return spin() > 0; }
    public function __unset($name) { spin(); }
    public function __call($name, $args) { return spin(); }
    public static function __callStatic($name, $args) { return spin(); }
    public function __invoke($n) { return $n ? $this($n - 1) : spin(); }
    public function __toString(): string { return (string)spin(); }
    public function __clone() { spin(); }
    public function __wakeup() { spin(); }
    public function __debugInfo() { return [spin()]; }
    public function getIterator(): Iterator { spin(); return new ArrayIterator([1]); }
    #[ReturnTypeWillChange]
    public function offsetGet($at) { return spin(); }
    #[ReturnTypeWillChange]
    public function offsetSet($at, $value) { spin(); }
    #[ReturnTypeWillChange]
    public function offsetExists($at) { return spin() > 0; }
    #[ReturnTypeWillChange]
    public function offsetUnset($at) { spin(); }
    public function count(): int { return spin() ? 1 : 0; }
    #[ReturnTypeWillChange]
    public function jsonSerialize() { return spin(); }
    public function made() { return function () { return $this->method(); }; }
}

class Derived extends Thing
{
    public function method() { return parent::method(); }
}

class Ending
{
    public $self;
    public function __destruct() { spin(); }
}

trait Shared
{
    public function shared() { return static::more(); }
}

class Using
{
    use Shared;
    private static function more() { return spin(); }
}

class Turns implements Iterator
{
    private $left = 1;
    #[ReturnTypeWillChange]
    public function current() { return spin(); }
    #[ReturnTypeWillChange]
    public function key() { return 0; }
    public function next(): void { $this->left--; }
    public function rewind(): void { }
    public function valid(): bool { return $this->left > 0; }
}

class Heap extends SplMinHeap
{
    #[ReturnTypeWillChange]
    protected function compare($a, $b) { spin(); return 0; }
}

class Stream
{
    public $context;
    public function stream_open($path, $mode, $options, &$opened) { return spin() !== null; }
}

function recursive($n) { return $n ? recursive($n - 1) : spin(); }
function even($n) { return $n ? odd($n - 1) : spin(); }
function odd($n)
{
    return $n ? even($n - 1)
              : spin();
}
function outer() { $inner = function () { return spin(); }; return $inner(); }
function generate($n) { yield $n; yield spin(); }
function delegate($n)
{
    if ($n)
        yield from delegate($n - 1);
    else
        yield spin();
}
function raises()
{
    try {
        throw new Exception('x');
    } catch (Exception $e) {
        return spin();
    } finally {
        $n = 1;
    }
}
function finally_()
{
    try {
        return 1;
    } finally {
        spin();
    }
}
function deepInC($n) { return $n ? array_map(function ($k) { return deepInC($k - 1); }, [$n]) : spin(); }
function byReference(&$x, ...$rest) { $x = spin(); }
function defaults($a = 1, $b = 2) { return spin(); }

function c01() { spin(); }
function c02() { recursive(5); }
function c03() { even(7); }
function c04() { outer(); }
function c05() { (new Thing)->method(); }
function c06() { (new Derived)->method(); }
function c07() { Thing::ofClass(); }
function c08() { $f = static function () { spin(); }; $f(); }
function c09() { (new Thing)->missing; }
function c10() { (new Thing)->missing(1, 2); }
function c11() { Thing::missing(); }
function c12() { $t = new Thing; $t(4); }
function c13() { new Thing(true); }
function c14() { $e = new Ending; unset($e); }
function c15() { return 'x' . new Thing; }
function c16() { $a = [2, 1]; usort($a, function ($x, $y) { spin(); return $x - $y; }); }
function c17() { array_map('spin', [1]) && 0; }
function c18() { preg_replace_callback('/a/', function ($m) { return (string)spin(); }, 'a'); }
function c19() { foreach (generate(1) as $x); }
function c20() { foreach (delegate(1) as $x); }
function c21() { foreach (delegate(4) as $x); }
function c22() { $a = [1]; array_walk($a, [new Thing, 'method']); }
function c23() { $f = 'call' . '_user_func_array'; $f('defaults', [1]); }
function c24() { include PARTS . 'plain.php'; }
function c25() { require_once PARTS . 'outer.php'; }
function c26() { eval('spin();'); }
function c27() { eval("function text()\n{\n    spin();\n}\ntext();"); }
function c28() { new Loaded; }
function c29() { raises(); }
function c30() { finally_(); }
function c31() { foreach (new Thing as $x); }
function c32() { foreach (new Turns as $x); }
function c33() { (new Thing)['x']; }
function c34() { count(new Thing); }
function c35() { json_encode(['a' => new Thing]); }
function c36() { (new Using)->shared(); }
function c37()
{
    $o = new class extends Thing {
        public function run()
        {
            return $this->method();
        }
    };
    $o->run();
}
function c38() { \Name\Space\inside(); }
function c39() { Closure::bind(function () { return $this->method(); }, new Thing, Thing::class)(); }
function c40() { array_reduce([1, 2], function ($a, $b) { return $b > 1 ? spin() : 0; }); }
function c41() { iterator_to_array(generate(1)); }
function c42() { recursive(300); }
function c43() { (new ReflectionMethod('Thing', 'method'))->invoke(new Thing); }
function c44() { set_error_handler(function () { spin(); return true; }); $x = $undefined; restore_error_handler(); }
function c45() { $h = new Heap; $h->insert(1); $h->insert(2); }
function c46() { deepInC(4); }
function c47() { native(); }
function c48() { (new Thing)->made()(); }
function c49() { $t = new Thing; $t->missing = 1; }
function c50() { clone (new Thing); }
function c51() { unserialize(serialize(new Thing)); }
function c52() { $e = new Ending; $e->self = $e; unset($e); gc_collect_cycles(); }
function c53() { fopen('spin://x', 'r'); }
function c54() { $f = fn ($x) => spin() + $x; $f(1); }
function c55() { byReference($x, ...[1, 2]); }
function c56() { $m = 'method'; (new Thing)->$m(); }
function c57()
{
    ob_start(function ($s) { return $s; });
    array_filter([1], function ($x) {
        ob_end_clean();
        return spin();
    });
}
function c58() { $g = (function () { $x = yield 1; spin(); })(); $g->current(); $g->send(2); }
function c59() { $t = new Thing; isset($t->missing) || empty($t["x"]); }
function c60()
{
    $x = 1;
    switch ($x) {
        case 1:
            return defaults(
                1,
                spin()
            );
    }
}

spl_autoload_register(function ($class) {
    require PARTS . strtolower($class) . '.php';
});
stream_wrapper_register('spin', 'Stream');
require PARTS . 'space.php';
if (PHP_VERSION_ID >= 80100)
    require PARTS . 'since81.php';
if (PHP_VERSION_ID >= 80400)
    require PARTS . 'since84.php';

$chains = array_filter(get_defined_functions()['user'], function ($f) { return preg_match('/^c\d\d$/', $f); });
sort($chains);
foreach ($chains as $current)
    $current();
register_shutdown_function(function () { global $current; $current = 'c90'; spin(); });
