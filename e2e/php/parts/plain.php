<?php
$x = 1;
spin();
