# Known chains of calls, one after the other: at the end of each, what caller() says of its stack is printed, and then the
# CPU is busy for a while.
#
#   chains_target.pl MILLISECONDS FOLDER
#
# A line is a JSON list: the name of the chain, and the frames from the root on, as [name, file, line].
use strict;
use warnings;
no warnings qw(once recursion void);
use utf8;
use Time::HiRes ();
use threads;
use List::Util ();
use Storable ();
use Digest::SHA ();

our ($busy, $folder, $current);
BEGIN { ($busy, $folder) = ($ARGV[0] / 1000, $ARGV[1]); $current = "c00"; $| = 1; binmode STDOUT, ":utf8" }

# From the innermost frame on. Blocks of eval are no frames; below threads, and before the program runs, it is none.
sub told {
    my ($at, @frames, @place) = (1);
    while (my @c = \(caller $at++)) { # the name of a format is the format, which cannot be copied
        $c[3] = \"format main::SINK" if ref $c[3] eq "FORMAT";
        my ($file, $line, $name, $text, $required) = map { $$_ } @c[1, 2, 3, 6, 7];
        next if $name eq "(eval)" && !defined $text;
        $name = $required ? "(require)" : "(eval)" if $name eq "(eval)";
        push @frames, [$name, @place ? @place : ("", 0)];
        @place = ($file, $line);
    }
    push @frames, ["(main)", @place] if !threads->tid && ${^GLOBAL_PHASE} eq "RUN";
    my $list = join ", ", map { sprintf '["%s", "%s", %d]', $_->[0], $_->[1], $_->[2] } reverse @frames;
    print STDOUT "[\"$current\", [$list]]\n";
}

sub spin {
    told();
    my ($end, $n) = (Time::HiRes::time() + $busy, 0);
    while (Time::HiRes::time() < $end) {
        for my $i (1 .. 1000) { $n += $i & 3 }
    }
    return $n;
}

sub native {
    told();
    my ($end, $data) = (Time::HiRes::time() + $busy, "x" x 400000);
    while (Time::HiRes::time() < $end) {
        Digest::SHA::sha256($data);
    }
}

sub recursive { my $n = shift; return $n ? recursive($n - 1) : spin() }
sub even { my $n = shift; $n ? odd($n - 1) : spin() }
sub odd { my $n = shift; $n ? even($n - 1) : spin() }
sub outer { my $x = shift; return sub { return spin($x) } }
sub jump { goto &recursive }
sub by_name { spin() if !$main::sorted++; $a <=> $b }
sub deep_in_c { my $n = shift; $n ? (sort { deep_in_c($n - 1) if !$main::deep{$n}++; $a <=> $b } 2, 1)[0] : spin() }
sub straße { spin() }

package Thing;
our $AUTOLOAD;
sub new { my $class = shift; return bless {@_}, $class }
sub method { my $self = shift; return main::spin() }
sub AUTOLOAD { main::spin() if $AUTOLOAD =~ /missing/ }
sub DESTROY { my $self = shift; main::spin() if $self->{destroy} }

package Thing::Derived;
our @ISA = ("Thing");
sub method { my $self = shift; $self->SUPER::method() }
sub STORABLE_freeze { main::spin(); return "x" }

package Tied;
sub TIESCALAR { bless [] }
sub FETCH { main::spin() }
sub TIEHASH { bless {} }
sub STORE { main::spin() }
sub TIEHANDLE { bless [] }
sub PRINT { main::spin() }

package Adds;
use overload '+' => \&add, '""' => sub { main::spin(); "x" }, '<=>' => sub { main::spin() if !$main::compared++; 0 };
sub new { bless [] }
sub add { main::spin() }

package main;

sub c01 { spin() }
sub c02 { recursive(5) }
sub c03 { even(7) }
sub c04 { outer(1)->() }
sub c05 { Thing->new->method }
sub c06 { Thing::Derived->new->method }
sub c07 { my $m = Thing->can("method"); Thing->$m() }
sub c08 { Thing->missing(1) }
sub c09 { jump(2) }
sub c10 { my $t = Thing->new(destroy => 1); undef $t }
sub c11 { tie my $x, "Tied"; my $y = $x }
sub c12 { tie my %x, "Tied"; $x{a} = 1 }
sub c13 { my $x = Adds->new + 1 }
sub c14 { my $x = "a" . Adds->new }
sub c15 { my $n = 0; my @x = sort { spin() if !$n++; $a <=> $b } 2, 1 }
sub c16 { my @x = sort by_name 2, 1 }
sub c17 { my $n = 0; my $by = sub { spin() if !$n++; $a <=> $b }; my @x = sort $by 2, 1 }
sub c18 { my @x = sort { $a <=> $b } Adds->new, Adds->new }
sub c19 { my @x = map { grep { spin() } $_ } 1 }
sub c20 { List::Util::first(sub { spin() }, 1) }
sub c21 { List::Util::reduce(sub { spin() }, 1, 2) }
sub c22 { eval { spin() } }
sub c23 { eval "sub text { spin() }\n\ntext()" }
sub c24 { eval "\n#line 77 \"template.tt\"\nspin();\n" }
sub c25 { require "$folder/required.pl" }
sub c26 { do "$folder/done.pl" }
sub c27 { local $SIG{__WARN__} = sub { spin() }; warn "x" }
sub c28 { local $SIG{__DIE__} = sub { spin() }; eval { die "x" } }
sub c29 { local $SIG{ALRM} = sub { spin() }; kill ALRM => $$; for my $i (1 .. 1000) { } }
sub c30 { "a" =~ /a(?{ spin() })/ }
sub c31 { my $re = qr/a(?{ spin() })/; "ba" =~ /b$re/ }
sub c32 { my $x = "a"; $x =~ s/a/spin()/e }
sub c33 { threads->create(\&recursive, 2)->join }
sub c34 { threads->create(sub { eval "sub in_thread {\n spin() }\n in_thread()" })->join }
sub c35 { recursive(300) }
sub c36 { my sub lexical { spin() } lexical() }
sub c37 { no strict "refs"; local *{"main::alias"} = \&recursive; alias(1) }
sub c38 { no strict "refs"; local *{"main::glob"} = sub { spin() }; &{"glob"}() }
sub c39 { straße() }
sub c40 { deep_in_c(3) }
sub c41 { Storable::freeze(Thing::Derived->new) }
sub c42 { tie *TIED, "Tied"; print TIED "x" }
sub c43 { my @x = sort { eval { eval { by_eval() } }; $a <=> $b } 2, 1 }
sub by_eval { spin() if !$main::by_eval++ }
sub c44 { eval { die "x" } or do { spin() } }
sub c45 { native() }
sub c46 { threads->create(\&native)->join }
sub c47 { open SINK, ">", "/dev/null"; write SINK }
sub c48 { eval "BEGIN { spin() }" }
sub c49 { unshift @INC, $folder; eval "\nuse Imported;" }
sub c50 { eval "use feature 'try'; no warnings; try { spin() } catch (\$e) { }; 1" or spin() }
sub c51 { eval "use feature 'class'; no warnings; class C1 { method m { main::spin() } } C1->new->m; 1" or spin() }
sub c52 { eval "use feature 'signatures'; no warnings; sub signed(\$x,\n \$y = spin()) { } signed(1)" }
sub c53 { require "$folder/filtered.pl" }
sub c54 { my @x = map { my $x = $_; sub { recursive($x) }->() } 3 }
format SINK =
@<<<<
spun()
.
sub spun { spin(); "x" }

BEGIN { spin() }
for my $name (sort grep /^c\d\d$/, keys %main::) {
    $current = $name;
    no strict "refs";
    &$name();
}
END { $current = "c99"; spin() }
