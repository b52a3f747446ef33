# Is loaded by do.
main::spin();
