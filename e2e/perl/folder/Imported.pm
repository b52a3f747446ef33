# Is loaded by use.
package Imported;
sub import { main::spin() }
1;
