# Is changed by a filter while it is read.
use Filter::Util::Call;

BEGIN {
    filter_add(sub { my $n = filter_read(); main::spin() if /seen/; s/unseen/main::spin/; return $n });
}
sub seen { }
unseen();
1;
