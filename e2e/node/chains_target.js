// Known chains of calls, one after the other, over and over for a while each. What V8 itself says of the stack is printed
// in the first calls of a chain's last function, its leaf, which no other chain has; after that the leaf is busy.
//
//     chains_target.js MILLISECONDS WORK
//
// WORK: how many steps a call of a leaf takes. A line of what is printed is a JSON list: the name of the leaf, and the
// frames from it on to the root, as [name, file, line, line where the function begins].
const {EventEmitter} = require('events');
const fs = require('fs');
const {performance} = require('perf_hooks');
const vm = require('vm');
const worker = require('worker_threads');

const BUSY = Number(process.argv[2]), WORK = Number(process.argv[3]);
Error.stackTraceLimit = Infinity;

// Frames that only await another one are no part of the stack.
function stack() {
    const prepare = Error.prepareStackTrace;
    Error.prepareStackTrace = (error, sites) => sites;
    const sites = new Error().stack;
    Error.prepareStackTrace = prepare;
    return sites.filter(s => !s.isAsync() && !(s.isPromiseAll && s.isPromiseAll())).map(s => [
        s.getFunctionName() || '(anonymous)', s.getFileName() || '', s.getLineNumber() || 0,
        s.getEnclosingLineNumber ? s.getEnclosingLineNumber() || 0 : 0]);
}

function say(name) {
    fs.writeSync(1, JSON.stringify([name, stack().slice(2)]) + '\n');
}

function leafOf(name, work) {
    const make = vm.runInThisContext(`(function make(say, work) {
        let said = 0;
        return function leaf_${name}() {
            if (said < 3) {
                said++;
                say('leaf_${name}');
            }
            let n = 0;
            for (let i = 0; i < work; i++)
                n = n * 31 + i | 0;
            return n;
        };
    })`, {filename: 'leaf.js'});
    return make(say, work);
}

function text(source, options) {
    return vm.runInThisContext(source, {filename: 'text.js', ...options});
}

// ---- Functions of all kinds -----------------------------------------------------------------------------------------

class Base {
    field = this.start && this.start();
    #own(leaf) { return leaf(); }
    get #value() { return this.leaf(); }
    static ofClass(leaf) { return leaf(); }

    constructor(leaf, run) {
        this.leaf = leaf;
        if (run)
            leaf();
    }

    method(leaf) {
        return leaf();
    }

    hidden(leaf) {
        return this.#own(leaf);
    }

    hiddenValue() {
        return this.#value;
    }

    get value() { return this.leaf(); }
    set value(to) { to(); }
    ['[comp' + 'uted]'](leaf) { return leaf(); }
    [Symbol.toPrimitive]() { return this.leaf(); }

    *[Symbol.iterator]() {
        yield this.leaf();
    }
}

class Derived extends Base {
    constructor(leaf) {
        super(
            leaf, true);
    }

    method(leaf) {
        return super.method(leaf);
    }
}

class Implicit extends Base {}

function recursive(n, leaf) {
    return n ? recursive(n - 1, leaf) : leaf();
}

function even(n, leaf) { return n ? odd(n - 1, leaf) : leaf(); }
function odd(n, leaf) { return n ? even(n - 1, leaf) : leaf(); }

function* generate(n, leaf) {
    if (n)
        yield* generate(n - 1, leaf);
    else
        yield leaf();
}

function outer(leaf) {
    const inner = () => {
        return leaf();
    };
    return (function () {
        return inner();
    })();
}

function tries(leaf) {
    try {
        throw new Error('no');
    } catch (e) {
        return leaf();
    } finally {
        globalThis.tried = true;
    }
}

function tag(strings, leaf) {
    return leaf();
}

function defaults(leaf, n = leaf()) {
    return n;
}

function zähle(leaf) { return leaf(); } // its name has a letter that is not ASCII

const object = {
    method(leaf) { return leaf(); },
    arrow: leaf => leaf(),
    plain: function (leaf) { return leaf(); },
    named: function itself(leaf) { return leaf(); },
    get value() { return this.leaf(); },
};

function target() {}

const proxy = new Proxy(target, {
    get(of, key) {
        return target.leaf();
    },
    apply(of, self, list) {
        return list[0]();
    },
    has(of, key) {
        return !!target.leaf() || true;
    },
    construct(of, list) {
        list[0]();
        return {};
    },
});

// Of more variables than V8 keeps the names of in line, and so many registers that operands are wide.
const crowd = Array.from({length: 300}, (unused, i) => `v${i}`);
const crowded = text(`(function crowded(leaf) {
    let ${crowd.map(v => v + ' = 1').join(', ')};
    if (leaf.never)
        return () => ${crowd.join(' + ')};
    ${crowd.map(v => v + '++').join(';\n    ')};
    const n =
        leaf();
    return n + ${crowd.join(' + ')};
})`);
const registers = text(`(function registers(leaf) {
    let ${crowd.map(v => v + ' = leaf.length').join(', ')};
    ${crowd.map(v => v + '++').join(';\n    ')};
    const n =
        leaf();
    return n + ${crowd.join(' + ')};
})`);
const returns = text('(function returns(leaf) {\r\n\r\n    return leaf();\r})', {filename: 'returns.js'});
const offset = text('(function offset(leaf) {\n    return leaf();\n})', {filename: 'offset.js', lineOffset: 1000});
const wide = text('(function 関数(leaf) {\n    /* \u2028 ends a line */\n    return leaf();\n})', {filename: '文.js'});
const made = new Function('leaf', 'return leaf();');
const evaluated = eval('(function evaluated(leaf) {\n    return leaf();\n})');
const emitter = new EventEmitter();
emitter.on('event', function listener(leaf) {
    leaf();
});

const chains = {
    call: leaf => leaf(),
    method: leaf => new Base(leaf).method(leaf),
    superMethod: leaf => Derived.prototype.method.call(object, leaf),
    static: leaf => Base.ofClass(leaf),
    getter: leaf => new Base(leaf).value,
    setter: leaf => { new Base().value = leaf; },
    constructor: leaf => new Base(leaf, true),
    derived: leaf => new Derived(leaf),
    implicit: leaf => new Implicit(leaf, true),
    initializer: leaf => new (class Local { field = leaf(); })(),
    private: leaf => new Base().hidden(leaf),
    privateGetter: leaf => new Base(leaf).hiddenValue(),
    computed: leaf => new Base()['[computed]'](leaf),
    coercion: leaf => +new Base(leaf),
    iterator: leaf => [...new Base(leaf)],
    literal: leaf => object.method(leaf),
    literalArrow: leaf => object.arrow(leaf),
    literalPlain: leaf => object.plain(leaf),
    literalNamed: leaf => object.named(leaf),
    literalGetter: leaf => { object.leaf = leaf; return object.value; },
    closure: leaf => outer(leaf),
    recursive: leaf => recursive(5, leaf),
    deep: leaf => recursive(200, leaf),
    mutual: leaf => even(7, leaf),
    generator: leaf => { for (const n of generate(4, leaf)) n; },
    spread: leaf => [...generate(2, leaf)],
    tries: leaf => tries(leaf),
    tagged: leaf => tag`a${leaf}b`,
    defaults: leaf => defaults(leaf),
    umlaut: leaf => zähle(leaf),
    crowded: leaf => crowded(leaf),
    registers: leaf => registers(leaf),
    returns: leaf => returns(leaf),
    offset: leaf => offset(leaf),
    wide: leaf => wide(leaf),
    madeFunction: leaf => made(leaf),
    evaluated: leaf => evaluated(leaf),
    evalNow: leaf => eval('leaf()'),
    map: leaf => [1].map(() => leaf()),
    forEach: leaf => [1].forEach(function each() { leaf(); }),
    reduce: leaf => [1, 2].reduce((a, b) => leaf()),
    sort: leaf => [2, 1].sort((a, b) => leaf()),
    from: leaf => Array.from([1], n => leaf()),
    replace: leaf => 'abc'.replace(/b/, () => leaf()),
    toJSON: leaf => JSON.stringify({toJSON() { return leaf(); }}),
    reviver: leaf => JSON.parse('1', (key, value) => leaf()),
    reflectApply: leaf => Reflect.apply(Base.ofClass, null, [leaf]),
    reflectConstruct: leaf => Reflect.construct(Base, [leaf, true]),
    callApply: leaf => object.method.call(null, () => object.method.apply(null, [leaf])),
    bound: leaf => object.method.bind(null, leaf)(),
    proxyGet: leaf => { target.leaf = leaf; return proxy.key; },
    proxyHas: leaf => { target.leaf = leaf; return 'key' in proxy; },
    proxyApply: leaf => proxy(leaf),
    proxyConstruct: leaf => new proxy(leaf),
    emitter: leaf => emitter.emit('event', leaf),
    mapForEach: leaf => new Map([[1, 1]]).forEach(() => leaf()),
    script: leaf => { globalThis.leaf = leaf; return script.runInThisContext(); },
    module: leaf => module_.exported(leaf),
    moduleDefault: leaf => module_.default(leaf),
};

const script = new vm.Script('function ofScript() {\n    return leaf();\n}\nofScript();', {filename: 'script.js'});
let module_;

// ---- What runs later: calls are fewer, and longer -------------------------------------------------------------------

async function awaits(leaf) {
    await null;
    return leaf();
}

async function awaitsDeep(n, leaf) {
    if (n)
        return await awaitsDeep(n - 1, leaf);
    await new Promise(resolve => setImmediate(resolve));
    return object.method(leaf);
}

async function* asyncGenerate(leaf) {
    yield await awaits(leaf);
    yield leaf();
}

const later = {
    async: leaf => awaits(leaf),
    asyncDeep: leaf => awaitsDeep(3, leaf),
    asyncGenerator: async leaf => { for await (const n of asyncGenerate(leaf)) n; },
    asyncArrow: leaf => Promise.all([1, 2].map(async n => { await n; return leaf(); })),
    promise: leaf => Promise.resolve(1).then(function then() { return leaf(); }),
    executor: leaf => new Promise((resolve, reject) => resolve(leaf())),
    timeout: leaf => new Promise(resolve => setTimeout(() => { leaf(); resolve(); }, 1)),
    immediate: leaf => new Promise(resolve => setImmediate(function now() { leaf(); resolve(); })),
    tick: leaf => new Promise(resolve => process.nextTick(() => { leaf(); resolve(); })),
    microtask: leaf => new Promise(resolve => queueMicrotask(() => { leaf(); resolve(); })),
    readFile: leaf => new Promise(resolve => fs.stat('/', () => { leaf(); resolve(); })),
};

// ---- All of them ----------------------------------------------------------------------------------------------------

function run(name, chain, busy = BUSY) {
    const leaf = leafOf(name, WORK), end = performance.now() + busy;
    do
        chain(leaf);
    while (performance.now() < end);
}

async function runLater(name, chain) {
    const leaf = leafOf(name, WORK * 20), end = performance.now() + BUSY;
    do {
        await new Promise(setImmediate);
        await chain(leaf);
    } while (performance.now() < end);
}

function runWorker() {
    return new Promise(resolve => new worker.Worker(__filename, {argv: process.argv.slice(2)}).on('exit', resolve));
}

async function main() {
    for (const end = performance.now() + 200; performance.now() < end;); // meanwhile, it is seen what this is
    module_ = await import('./chains_module.mjs');
    for (const [name, chain] of Object.entries(chains)) {
        await null;
        run(name, chain);
    }
    for (const [name, chain] of Object.entries(later))
        await runLater(name, chain);
    await runWorker();
}

if (worker.isMainThread) {
    main();
} else {
    run('worker', leaf => recursive(3, leaf), 3 * BUSY);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700); // nothing can be read of it once it has ended
}
