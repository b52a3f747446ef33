# Known chains of calls, one after the other: at the end of each, what the interpreter itself says of its stack is
# printed, and then the CPU is busy for a while.
#
#   chains_target.rb MILLISECONDS
#
# A line is a JSON list: the name of the chain, and the frames from the root on, as [label, file, line, classes]: "Class#"
# or "Class." of the method that the code belongs to, both if it is a module's function, "" if it is not of a method.
require "json"

BUSY = ARGV[0].to_f / 1000
$stdout.sync = true
$chain = "c00"

# Where methods begin, by name and file.
def methods_of(owner, prefix, to)
  names = owner.instance_methods(false) + owner.private_instance_methods(false)
  names.each do |name|
    method = owner.instance_method(name)
    method = method.super_method while method && method.owner != owner # another one may be prepended
    file, line = method&.source_location
    to[[method.original_name.to_s, file]] << [line, prefix] if file
  end
end

def all_methods
  found = Hash.new { |h, k| h[k] = [] }
  ObjectSpace.each_object(Module) do |m|
    next unless m.name
    methods_of(m, "#{m.name}#", found)
    methods_of(m.singleton_class, "#{m.name}.", found)
  end
  found
end

def prefixes_of(known, location)
  return [""] if location.path.to_s.start_with?("(") || location.label =~ /<[a-z]/
  lines = known[[location.base_label.sub(/.*[#.]/, ""), location.path]].select { |line, _| line <= location.lineno }
  last = lines.map(&:first).max
  last ? lines.select { |line, _| line == last }.map(&:last) : [""]
end

KNOWN = Hash.new

def tell(locations)
  KNOWN.replace(all_methods)
  KNOWN.default = []
  puts JSON.generate([$chain, locations.reverse.map { |l| [l.label, l.path, l.lineno, prefixes_of(KNOWN, l)] }])
end

def spin(*)
  tell(caller_locations(1))
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + BUSY
  n = 0
  n += 1 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  n
end

module Mixed
  def mixed
    spin
  end

  def self.of_module
    spin
  end
end

module Before
  def shadowed
    super
  end
end

module Refined
  refine String do
    def refined
      spin
    end
  end
end

class Thing
  include Mixed
  prepend Before
  include Comparable

  def initialize(run = false)
    spin if run
  end

  def method_of_it
    spin
  end

  def self.of_class
    spin
  end

  class << self
    def in_singleton
      [1].map { spin }
    end
  end

  def shadowed
    spin
  end

  def method_missing(name, *args)
    name == :missing ? spin : super
  end

  def respond_to_missing?(*)
    false
  end

  def <=>(other)
    spin
    0
  end

  def each
    yield 1
  end
  include Enumerable

  def to_s
    spin
    "text"
  end

  def hash
    spin
    1
  end

  def [](n)
    n.zero? ? spin : self[n - 1]
  end

  define_method(:defined) { |n| spin(n) }
  alias_method :other_name, :method_of_it
  attr_accessor :value

  def value=(n)
    spin
  end

  def matched
    "abc" =~ /b/
    [$~].each { spin }
  end

  def nested
    [1].each { |a| [2].each { |b| { c: 3 }.each { |c| spin } } }
  end

  def rescued
    raise "x"
  rescue StandardError
    [1].each { spin }
  end

  def ensured
    1
  ensure
    spin
  end

  def optional(a, b = spin, *c, d: 1)
    a
  end

  class Inner
    def self.make
      new.deep
    end

    def deep
      ->(x) { spin }.call(1)
    end
  end
end

class Derived < Thing
  def method_of_it
    super
  end
end

Point = Struct.new(:x) do
  def struct_method
    spin
  end
end

using Refined

def recursive(n)
  n.zero? ? spin : recursive(n - 1)
end

def even(n)
  n.zero? ? spin : odd(n - 1)
end

def odd(n)
  n.zero? ? spin : even(n - 1)
end

def yields
  yield
end

def passes(&block)
  block.call
end

def several_lines(a,
                  b)
  [a,
   b].each do |x|
    next if x == 1

    yields do
      spin(
        x
      )
    end
  end
end

def deep_in_c(n)
  n.zero? ? spin : [n].each { |k| deep_in_c(k - 1) }
end

def evaluated
  eval("spin")
end

PROC = proc { |x| spin }
OBJECT = Object.new
def OBJECT.singular
  spin
end

def c01; spin; end
def c02; recursive(5); end
def c03; even(7); end
def c04; yields { spin }; end
def c05; passes { spin }; end
def c06; Thing.new.method_of_it; end
def c07; Derived.new.method_of_it; end
def c08; Thing.of_class; end
def c09; Thing.in_singleton; end
def c10; Thing.new(true); end
def c11; Thing.new.mixed; end
def c12; Mixed.of_module; end
def c13; Thing.new.shadowed; end
def c14; Thing.new.missing; end
def c15; Thing.new < Thing.new; end
def c16; Thing.new.map { spin }; end
def c17; "#{Thing.new}"; end
def c18; { Thing.new => 1 }; end
def c19; Thing.new[3]; end
def c20; Thing.new.defined(1); end
def c21; Thing.new.other_name; end
def c22; Thing.new.value = 1; end
def c23; Thing.new.matched; end
def c24; Thing.new.nested; end
def c25; Thing.new.rescued; end
def c26; Thing.new.ensured; end
def c27; Thing.new.optional(1); end
def c28; Thing::Inner.make; end
def c29; Point.new(1).struct_method; end
def c30; "x".refined; end
def c31; several_lines(1, 2); end
def c32; [2, 1].sort_by { |x| x == 2 ? spin : x }; end
def c33; 1.times { spin }; end
def c34; [1].each_with_index.map { |x, i| spin }; end
def c35; deep_in_c(5); end
def c36; evaluated; end
def c37; eval("def text\n  spin\nend\ntext", TOPLEVEL_BINDING, "some/file.erb", 30); end
def c38; PROC.call(1); end
def c39; [1].each(&PROC); end
def c40; OBJECT.singular; end
def c41; OBJECT.instance_eval { spin }; end
def c42; Thing.class_eval { spin }; end
def c43; Class.new { spin }; end
def c44; OBJECT.send(:singular); end
def c45; [:of_class].each { |n| Thing.public_send(n) }; end
def c46; "a".gsub(/a/) { spin.to_s }; end
def c47; Fiber.new { spin }.resume; end
def c48; e = Enumerator.new { |y| y << spin }; e.next; end
def c49; Thread.new { yields { spin } }.join; end
def c50; recursive(300); end
def c51; catch(:done) { throw :done, spin }; end
def c52; loop { spin; break }; end
def c53; JSON.generate([Thing.new]); end
def c54; [3].inject(1) { |a, b| spin }; end
def c55; Thing.instance_method(:method_of_it).bind(Thing.new).call; end
def c56; 5.step(6, 2) { spin }; end
def c57; [1].lazy.map { spin }.to_a; end

class InClass
  $chain = "c58"
  spin
end

BEGIN { $began = 1 }
at_exit { $chain = "c59"; spin }

Object.private_instance_methods(false).grep(/\Ac\d\d\z/).sort.each do |name|
  $chain = name.to_s
  send(name)
end
