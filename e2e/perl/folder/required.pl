# Is loaded by require.

sub of_required { main::spin() }
of_required();
1;
